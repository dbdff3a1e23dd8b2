"""The page docs/benchmarks-cloud.md, written only from measured figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BEGINNING = """\
# Ingestion beside plain Spark

Written by `make bench-cloud ARGUMENTS=--write`, which overwrites what is changed by hand.
"""
_COMPARED = ("oncegate ingest", "plain Spark")
"""The beginnings of the names of rows that process the same lines."""
METHOD = Path(__file__).with_name("method.md").read_text()


class Row(NamedTuple):
    """One measurement."""

    name: str
    events: int
    """The number of new events."""
    seconds: float
    processor_seconds: float
    """User and system time of the driver, its JVM and the Python workers."""
    driver_bytes_max: int
    jvm_bytes_max: int
    worker_bytes_max: int

    @property
    def rate(self) -> float | None:
        """Events per processor second, or None if there are too few events for a rate."""
        is_rated = self.events >= 10_000 and self.processor_seconds > 0
        return self.events / self.processor_seconds if is_rated else None


def line_of(row: Row) -> str:
    """Return a row as one line for the terminal."""
    rate = "" if row.rate is None else f", {row.rate:,.0f} events/s a core"
    return f"{row.name}: {row.seconds:.1f} s, {row.processor_seconds:.1f} processor s{rate}"


def table_of(rows: Sequence[Row]) -> str:
    """Return all rows as a Markdown table."""
    heads = (
        "what | events | seconds | processor seconds | events/s a core | driver | JVM | "
        "largest worker"
    )
    lines = [f"| {heads} |", "|---|" + "---:|" * 7]
    for row in rows:
        rate = "" if row.rate is None else f"{row.rate:,.0f}"
        driver, jvm, worker = (
            f"{size / 1e6:,.0f} MB" if size else ""
            for size in (row.driver_bytes_max, row.jvm_bytes_max, row.worker_bytes_max)
        )
        lines.append(
            f"| {row.name} | {row.events:,} | {row.seconds:,.1f} | {row.processor_seconds:,.1f} "
            f"| {rate} | {driver} | {jvm} | {worker} |"
        )
    return "\n".join(lines) + "\n"


def ratios_of(rows: Sequence[Row]) -> str:
    """Return a line for each size of a batch: the job's rate, and its ratio to plain Spark's."""
    rated = [row for row in rows if row.rate is not None and row.name.startswith(_COMPARED)]
    sizes = dict.fromkeys(row.events for row in rated)
    return "".join(_ratios([row for row in rated if row.events == size]) for size in sizes)


def _ratios(rows: Sequence[Row]) -> str:
    """Return the line for batches of one size. The rates are those of all turns together."""
    rates: dict[str, float] = {}
    for name in dict.fromkeys(row.name for row in rows):
        mine = [row for row in rows if row.name == name]
        rates[name] = sum(row.events for row in mine) / sum(row.processor_seconds for row in mine)
    job = rates.pop("oncegate ingest")
    found = "; ".join(f"{job / rate:.2f} of {name}" for name, rate in rates.items())
    of_each = f"`oncegate ingest` of {rows[0].events:,} events in a batch"
    return f"- {of_each}: {job:,.0f} events a processor second: {found}.\n"


def page_of(rows: Sequence[Row], machine: Mapping[str, Any], load: str) -> str:
    """Return the whole page."""
    on = (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, "
        f"{machine['file_system']}, Python {machine['python']}; {load}. Where that is above 0.5 a "
        "core others were at work: believe processor seconds and ratios, not seconds.\n"
    )
    return "\n".join([BEGINNING, on, table_of(rows), ratios_of(rows), METHOD])
