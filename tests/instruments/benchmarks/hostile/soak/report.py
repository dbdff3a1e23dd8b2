"""A soak as the generated part of a document."""

from collections.abc import Iterator
from typing import Any, Final

from tests.instruments.benchmarks.hostile.figures import medians_of
from tests.instruments.benchmarks.hostile.report import Markers
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
Written by `make soak ARGUMENTS=--write`, which overwrites this part. One broker and its page, and
{kinds} kinds of attack at the same time, each with {share:.0%} of the rate that it has alone,
and in full where it has to meet a limit. {calm} calm windows and {attacked} attacked ones
of {window:g} s in turn, {settle:g} s between them. The honest clients are known users: publishers
at QoS 0, 1 (TLS) and 2, each with {rate:g} messages a second; a subscriber (TLS) that stays; one
that is away for 3 of each 9 seconds; a client that logs in each second; and a visitor of the page.
The attackers have of the processors what others leave, and the honest clients a core when they want
one: both would be on other machines.

*Times* is the median of the attacked windows by the median of the calm ones; it has to be at most
2. *Calm by calm* is the same between every second calm window and the others: the noise of the
machine.
"""


def part_of(soak: Soak, plan: Plan, machine: dict[str, Any], build: str) -> str:
    """Return the part between the markers, as Markdown."""
    return "\n".join(_lines(soak, plan, machine, build)) + "\n"


def _lines(soak: Soak, plan: Plan, machine: dict[str, Any], build: str) -> Iterator[str]:
    yield METHOD.format(
        kinds=len(KINDS),
        share=plan.share,
        calm=len(soak.calm),
        attacked=len(soak.attacked),
        window=plan.window,
        settle=plan.settle,
        rate=plan.rate,
    )
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, data on "
        f"{machine['file_system']}, Python {machine['python']}, {build}; load average "
        f"{machine['load_average']} before the start; {soak.seconds / 60:.1f} minutes."
    )
    yield ""
    yield "| series | calm p50 / p99, ms | attacked p50 / p99, ms | times | calm by calm |"
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
    yield "| attack | connections | the limits' answers |"
    yield "|---|---|---|"
    for attack in KINDS:
        answers = soak.answered_by(attack).items()
        text = ", ".join(f"{name} {count:,}" for name, count in answers)
        none = "**none**" if attack.counters else "no limit is met"
        yield f"| {attack.name} | {soak.done_by(attack, 'connections'):,} | {text or none} |"
    yield ""
    failures = failures_of(soak, KINDS, latency=True)
    yield "It holds." if not failures else f"**It does not hold**: {'; '.join(failures)}."


def _outcome(soak: Soak) -> Iterator[str]:
    steady, returning = soak.conservations
    resident = [f"{size / 2**20:,.0f}" for size in soak.calm_resident_bytes]
    yield (
        f"- **Messages**: {steady.sent:,}; the subscriber that stayed: {steady.lost} lost, "
        f"{steady.doubled} doubled; the one that came and went, of {returning.sent:,} at QoS 1 and "
        f"2: {returning.lost} lost, {returning.doubled} doubled at QoS 2; "
        f"{steady.connections_lost + returning.connections_lost} connections cut."
    )
    yield (
        f"- **Logins**: {soak.logins_answered:,} of "
        f"{soak.logins_answered + sum(soak.logins_wrong.values()):,} let in. **Page**: "
        f"{soak.visits_answered:,} of "
        f"{soak.visits_answered + sum(soak.visits_wrong.values()):,} visits answered."
    )
    yield (
        f"- **Memory**, MiB: {', '.join(resident)} in the calm windows, which may grow by "
        f"{GROWTH_BYTES_MOST / 2**20:.0f} from the second on; the most "
        f"{soak.most_bytes / 2**20:,.0f} of {soak.allowed_bytes / 2**20:,.0f} that the bounds of "
        "this page allow together."
    )
    used = ", ".join(f"{each:.2f}" for each in soak.attacked_processor)
    yield f"- **Processors** that the broker used in the attacked windows: {used}."
    yield (
        f"- **Log**: {soak.log_lines:,} lines of broker and page, "
        f"{soak.log_lines / soak.seconds:.1f} a second of at most {LOG_LINES_A_SECOND_MOST:g}."
    )
