"""The rows as a table for a terminal, and as the generated part of a document."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from rich import box
from rich.table import Table

from tests.instruments.benchmarks.hostile.attack import Attack
from tests.instruments.benchmarks.hostile.attackers import BY_NAME
from tests.instruments.benchmarks.hostile.figures import RATIO_MOST, worst_of
from tests.instruments.benchmarks.hostile.memory import ALWAYS, AT_REST_BYTES, extra_parts
from tests.instruments.benchmarks.hostile.rows import Row, failures_of_row


class Markers(NamedTuple):
    """The location of a generated part in a document: below a heading, between two comments."""

    heading: str
    begin: str
    end: str


MARKERS: Final = Markers(
    "## An honest client beside each attack",
    "<!-- written by make hostile: begin -->",
    "<!-- written by make hostile: end -->",
)

SHOWN: Final = "QoS 2 received"
HOLDS: Final = "yes"
NONE: Final = "-"

HEADINGS: Final = (
    *("attack", "calm, ms", "beside it, ms", "times", "calm again, ms"),
    *("memory, MiB", "allowed, MiB", "lost, doubled, cut", "the broker counted", "holds"),
)

METHOD: Final = """\
Written by `make hostile`, which overwrites this part. Each row is a broker of its own with a
page, every kind of listener, users, tokens and rules, and with the defaults of
[configuration](configuration.md) but for lower limits of sessions, queues, retained messages and
connections of an address (`tests/instruments/benchmarks/hostile/site.py`). The
honest clients are a publisher at QoS 1 and one at QoS 2, each with {rate:g} messages a second of 64
bytes, and a subscriber; all three have persistent sessions. A latency counts from the moment at
which a message was due, to its PUBACK or PUBCOMP and to its receipt: four series.

- **Latencies** are p50 / p99 of QoS 2 from publish to receipt: {calm:g} s calm, {attack:g} s beside
  the attack, and calm again in the {after:g} s after it. *Times* is the worst of the four series at
  p50 and at p99; it has to be at most {ratio:g}. Where the calm stretch was luckier than the median
  of all calm stretches, that median is the calm one.
- **Memory** is what is resident before the attack, the most until {after:g} s after it, and what is
  left then. *Allowed* is what the bounds of this page add up to, those that this attack can use:
  {at_rest} for the process at rest; for any client
  {always};
  and what the second table has.
- **Lost, doubled, cut**: the honest clients' messages, held one by one against what was sent, and
  their connections. All have to be 0.
- A row that does not hold is measured up to {rounds} times, while there is time; then the medians
  of the latencies count, and the most of the memory. The first row is no attack: it shows the
  noise of the machine.
- The attackers are a process of their own, to which the kernel gives what others leave of the
  processors, and the honest clients have a core when they want one: both would be on other
  machines.
"""

BUSY_LOAD: Final = 0.5
"""A higher load average before the start shows that the machine was busy with other work."""

Results = dict[str, Any]


def table_of(rows: Sequence[Row]) -> Table:
    """Return the rows as a table for a terminal."""
    table = Table(box=box.SIMPLE)
    for heading in HEADINGS:
        table.add_column(
            heading, justify="left" if heading in (HEADINGS[0], HEADINGS[-2]) else "right"
        )
    for row in rows:
        cells = cells_of(row)
        table.add_row(*cells, style=None if cells[-1] == HOLDS else "red")
    return table


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the cells of one row in the order of HEADINGS."""
    failures = failures_of_row(row)
    conservation = row["conservation"]
    counted = row.get("counted", {})
    return (
        BY_NAME[row["attack"]].name,
        _latencies(row.get("calm_ms")),
        _latencies(row.get("during_ms")),
        _times(row),
        _latencies(row.get("after_ms")),
        " / ".join(
            _mebibytes(row.get(f"memory_{when}_bytes")) for when in ("before", "most", "after")
        ),
        _mebibytes(row["memory_allowed_bytes"]),
        f"{conservation['lost']}, {conservation['doubled']}, {conservation['connections_lost']}",
        ", ".join(f"{name} {count:,}" for name, count in counted.items()) or NONE,
        HOLDS if not failures else "; ".join(failures),
    )


def _latencies(percentiles: dict[str, dict[str, float]] | None) -> str:
    if percentiles is None:
        return NONE
    return " / ".join(f"{value:.1f}" for value in percentiles[SHOWN].values())


def _times(row: Row) -> str:
    if "ratios" not in row:
        return NONE
    return " / ".join(f"{worst_of(row['ratios'], each)[1]:.1f}" for each in ("p50", "p99"))


def _mebibytes(size: int | None) -> str:
    return NONE if size is None else f"{size / 2**20:,.0f}"


def part_of(results: Results) -> str:
    """Return the part between the markers, as Markdown."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    machine = results["machine"]
    always = ", ".join(f"{size / 2**20:.0f} MiB for {name}" for name, size in ALWAYS.items())
    at_rest = f"{AT_REST_BYTES / 2**20:.0f} MiB"
    yield METHOD.format(ratio=RATIO_MOST, at_rest=at_rest, always=always, **results["plan"])
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, data on "
        f"{machine['file_system']}, Python {machine['python']}, {results['build']}; load average "
        f"{machine['load_average']} before the start."
    )
    if machine["load_average"] > BUSY_LOAD:
        yield ""
        yield (
            "**The machine was busy with other work: that makes rows fail and hardly makes one "
            "hold. Measure again what does not hold.**"
        )
    yield ""
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---" * len(HEADINGS) + "|"
    for row in results["rows"]:
        cells = cells_of(row)
        last = HOLDS if cells[-1] == HOLDS else f"**no**: {cells[-1]}"
        yield f"| {' | '.join(cells[:-1])} | {last} |"
    yield ""
    yield "What each attack does, what it sent, and what its memory is allowed for:"
    yield ""
    yield "| attack | what it does | connections | sent, MB | allowed beside it, MiB |"
    yield "|---|---|---|---|---|"
    for row in results["rows"]:
        yield _attack_line(row, BY_NAME[row["attack"]])


def _attack_line(row: Row, attack: type[Attack]) -> str:
    done = row["done"]
    parts = extra_parts(attack.allowance).items()
    allowed = ", ".join(f"{name} {size / 2**20:,.1f}" for name, size in parts) or NONE
    sent = f"{done['connections']:,} | {done['sent_bytes'] / 1e6:,.1f}"
    return f"| {attack.name} | {attack.sentence} | {sent} | {allowed} |"


def with_part(document: str, part: str, markers: Markers = MARKERS) -> str:
    """Return a document with its part between the markers replaced, or appended if it has none."""
    heading, begin, end = markers
    between = f"{begin}\n\n{part}\n{end}"
    before, has_begin, rest = document.partition(begin)
    _, has_end, after = rest.partition(end)
    if has_begin and has_end:
        return before + between + after
    if has_begin:
        raise ValueError(f"the document has {begin} and no {end} behind it")
    above = "" if heading in document.splitlines() else f"{heading}\n\n"
    return f"{document.rstrip()}\n\n{above}{between}\n".lstrip()
