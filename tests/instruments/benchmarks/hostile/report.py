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
    "## The effect of each attack on an honest client",
    "<!-- written by make hostile: begin -->",
    "<!-- written by make hostile: end -->",
)

SHOWN: Final = "QoS 2 received"
HOLDS: Final = "yes"
NONE: Final = "-"

HEADINGS: Final = (
    *("attack", "calm, ms", "during attack, ms", "times calm", "after attack, ms"),
    *("memory, MiB", "allowed, MiB", "lost, duplicated, disconnected"),
    *("counted by the broker", "within limits"),
)

METHOD: Final = """\
This part is written by `make hostile`, which overwrites it. Each row is measured on a new broker
with a page, all kinds of listeners, users, tokens and access rules. The configuration is the
[default](configuration.md), with lower limits on sessions, queued messages, retained messages and
connections per address (`tests/instruments/benchmarks/hostile/site.py`).

The honest clients are a publisher at QoS 1, a publisher at QoS 2, and a subscriber. Each publisher
sends {rate:g} messages of 64 bytes per second, and all three have persistent sessions. Each message
is due at a fixed time. Two latencies are measured from this time: until the publisher receives the
PUBACK or PUBCOMP, and until the subscriber receives the message. This makes four series, two for
QoS 1 and two for QoS 2.

- **Latencies** are the p50 / p99 of QoS 2 messages until the subscriber receives them: during
  {calm:g} s before the attack, during the {attack:g} s of the attack, and within the {after:g} s
  after it. *Times calm* is the latency during the attack divided by the calm latency, at p50 and
  at p99, in the worst of the four series. At most {ratio:g} is allowed. If the calm latency of a
  row is lower than the median of all rows, this median is used instead.
- **Memory** is the resident memory of the broker before the attack, its maximum until {after:g} s
  after the attack, and its size at that time. *Allowed* is the sum of three parts: {at_rest} for
  the process with the honest clients only; the memory that any client may use, which is
  {always};
  and the additional memory in the second table.
- **Lost, duplicated, disconnected** are the numbers of the honest clients' messages that did not
  arrive or arrived twice, and how often an honest client was disconnected. All must be 0.
- A row that exceeds a limit is measured up to {rounds} times, if there is time. Then the medians of
  the latencies and the maximum of the memory count. The first row has no attack: it shows the noise
  of the machine.
- On a real network, attackers and honest clients run on other machines. Here, the attackers run in
  a separate process that only gets idle processor time, and the honest clients have real-time
  priority.
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
        ", ".join(f"{name}: {count:,}" for name, count in counted.items()) or NONE,
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
    yield machine_line(machine, results["build"])
    if machine["load_average"] > BUSY_LOAD:
        yield ""
        yield (
            "**The machine was busy with other work. This can make rows fail, but is unlikely to "
            "make a row pass. Measure the rows that fail again.**"
        )
    yield ""
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---" * len(HEADINGS) + "|"
    for row in results["rows"]:
        cells = cells_of(row)
        last = HOLDS if cells[-1] == HOLDS else f"**no**: {cells[-1]}"
        yield f"| {' | '.join(cells[:-1])} | {last} |"
    yield ""
    yield "What each attack does, what it sent, and how much additional memory it may use:"
    yield ""
    yield "| attack | what it does | connections | sent, MB | additional memory, MiB |"
    yield "|---|---|---|---|---|"
    for row in results["rows"]:
        yield _attack_line(row, BY_NAME[row["attack"]])


def machine_line(machine: dict[str, Any], build: str) -> str:
    """Return the machine and the build on which a part was measured, as a sentence."""
    return (
        f"Measured on: {machine['processor']}, {machine['cores']} cores, {machine['system']}, "
        f"data on {machine['file_system']}, Python {machine['python']}, {build}. The load average "
        f"before the start was {machine['load_average']}."
    )


def _attack_line(row: Row, attack: type[Attack]) -> str:
    done = row["done"]
    parts = extra_parts(attack.allowance).items()
    allowed = ", ".join(f"{name}: {size / 2**20:,.1f}" for name, size in parts) or NONE
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
        raise ValueError(f"the document has {begin} without {end} after it")
    above = "" if heading in document.splitlines() else f"{heading}\n\n"
    return f"{document.rstrip()}\n\n{above}{between}\n".lstrip()
