"""A soak as the generated part of a document."""

from collections.abc import Iterator
from typing import Any, Final

from tests.instruments.benchmarks.hostile.figures import RATIO_MOST, medians_of
from tests.instruments.benchmarks.hostile.report import Markers, machine_line
from tests.instruments.benchmarks.hostile.soak.run import KINDS, Plan
from tests.instruments.benchmarks.hostile.soak.verdict import (
    GROWTH_BYTES_MOST,
    LOG_LINES_A_SECOND_MOST,
    Soak,
    failures_of,
)

MARKERS: Final = Markers(
    "## All attacks at the same time",
    "<!-- written by make soak: begin -->",
    "<!-- written by make soak: end -->",
)

METHOD: Final = """\
This part is written by `make soak ARGUMENTS=--write`, which overwrites it. All kinds of attack run
at the same time against one broker and its page, each at {share:.0%} of its rate in `make hostile`.
Attacks that have to reach a limit run at their full rate. Between {calm} calm windows there are
{attacked} windows under attack. Each takes {window:g} s, with {settle:g} s between two windows.

The honest clients log in as known users:

- publishers at QoS 0, 1 (over TLS) and 2, each with {rate:g} messages per second
- a subscriber (over TLS) that stays connected
- a subscriber that disconnects for 3 of every 9 seconds
- a client that logs in every second
- a visitor of the page

On a real network, attackers and honest clients run on other machines. Here, the attackers only get
idle processor time, and the honest clients have real-time priority.

*Times calm* is the median of the windows under attack divided by the median of the calm windows. At
most {ratio:g} is allowed. *Noise* compares two halves of the calm windows, every second window with
the others: the larger median divided by the smaller one.
"""

NO_LIMIT: Final = "no limit"

COUNTED: Final = """\
The last column of the next table shows what stopped an attack, and how often. The broker counts by
reason and not by attack, so several attacks can have the same count. *No limit* means that the
attack is work within the limits, which the broker does in slices."""


def part_of(soak: Soak, plan: Plan, machine: dict[str, Any], build: str) -> str:
    """Return the part between the markers, as Markdown."""
    return "\n".join(_lines(soak, plan, machine, build)) + "\n"


def _lines(soak: Soak, plan: Plan, machine: dict[str, Any], build: str) -> Iterator[str]:
    yield METHOD.format(
        share=plan.share,
        calm=len(soak.calm),
        attacked=len(soak.attacked),
        window=plan.window,
        settle=plan.settle,
        rate=plan.rate,
        ratio=RATIO_MOST,
    )
    yield f"{machine_line(machine, build)} The soak took {soak.seconds / 60:.1f} minutes."
    yield ""
    yield "| series | calm p50 / p99, ms | under attack p50 / p99, ms | times calm | noise |"
    yield "|---|---|---|---|---|"
    calm, attacked = medians_of(soak.calm), medians_of(soak.attacked)
    ratios, noise = soak.ratios(), soak.noise()
    for name in calm:
        cells = [" / ".join(f"{each:.1f}" for each in table[name].values())
                 for table in (calm, attacked, ratios, noise)]  # fmt: skip
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield from _outcome(soak)
    yield ""
    yield COUNTED
    yield ""
    yield "| attack | connections | stopped by |"
    yield "|---|---|---|"
    for attack in KINDS:
        answers = soak.answered_by(attack).items()
        text = ", ".join(f"{name}: {count:,}" for name, count in answers)
        none = "**nothing**" if attack.counters else NO_LIMIT
        yield f"| {attack.name} | {soak.done_by(attack, 'connections'):,} | {text or none} |"
    yield ""
    failures = failures_of(soak, KINDS, latency=True)
    yield (
        "**Passed**: no limit was exceeded."
        if not failures
        else f"**Failed**: {'; '.join(failures)}."
    )


def _outcome(soak: Soak) -> Iterator[str]:
    steady, returning = soak.conservations
    resident = [f"{size / 2**20:,.0f}" for size in soak.calm_resident_bytes]
    yield (
        f"- **Messages**: {steady.sent:,} sent. The subscriber that stays connected: "
        f"{steady.lost} lost, {steady.doubled} duplicated. The subscriber that disconnects: "
        f"{returning.lost} lost of {returning.sent:,} at QoS 1 and 2, {returning.doubled} "
        "duplicated at QoS 2. "
        "Disconnections of honest clients: "
        f"{steady.connections_lost + returning.connections_lost}."
    )
    yield (
        f"- **Logins**: {soak.logins_answered:,} of "
        f"{soak.logins_answered + sum(soak.logins_wrong.values()):,} succeeded. **Page**: "
        f"{soak.visits_answered:,} of "
        f"{soak.visits_answered + sum(soak.visits_wrong.values()):,} requests succeeded."
    )
    yield (
        f"- **Memory** in the calm windows, MiB: {', '.join(resident)}. From the second window to "
        f"the last it may grow by at most {GROWTH_BYTES_MOST / 2**20:.0f}. The maximum was "
        f"{soak.most_bytes / 2**20:,.0f}; the limits of this page together allow "
        f"{soak.allowed_bytes / 2**20:,.0f}."
    )
    used = ", ".join(f"{each:.2f}" for each in soak.attacked_processor)
    yield f"- **Processor cores** that the broker used in the windows under attack: {used}."
    yield (
        f"- **Log**: {soak.log_lines:,} lines of the broker and the page, "
        f"{soak.log_lines / soak.seconds:.1f} per second. At most {LOG_LINES_A_SECOND_MOST:g} per "
        "second are allowed."
    )
