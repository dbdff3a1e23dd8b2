"""Totals of a batch, stored as one row of the table `batches`.

The commit of this row completes the batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import BATCHES
from cloud_jobs.tables.sql import Queryable


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of a batch that are known without querying the tables."""

    good_lines: int
    """Number of valid lines in the batch's trusted files."""
    records: int
    """Number of readings in the batch's delivered messages."""
    readings_new: int
    """Number of readings that were new."""
    segments: Mapping[str, int]
    """Number of segments by state."""
    events_new: int | None = None
    """Number of new events. If None, they are counted in the table."""
    is_refusing: bool = True
    """True if the batch may have rows in `quarantine`."""


_EVENTS: Final = (
    "SELECT 'events_new' AS name, count(*) AS number FROM {events} WHERE batch = :batch"
)
_QUARANTINE: Final = """
SELECT 'quarantined' AS name, count(*) AS number FROM {quarantine} WHERE batch = :batch
UNION ALL
SELECT 'refused_' || kind, sum(refused) FROM {quarantine} WHERE batch = :batch GROUP BY kind"""


COUNTS: Final = tuple(name for name in BATCHES.fieldNames() if name not in ("batch", "finished_at"))


def sums_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Add up rows of the table `batches`, column by column.

    The sum named `batches` is the number of rows.
    """
    found = [*rows]
    return {"batches": len(found)} | {name: sum(row[name] for row in found) for name in COUNTS}


def segments_in(sums: Mapping[str, int]) -> int:
    """Return the total number of segments in all states, from the result of `sums_of`."""
    return sum(number for name, number in sums.items() if name.startswith("segments_"))


def sums_after(tables: Queryable, batch: int) -> dict[str, int]:
    """Return the sums of all batches after `batch`.

    The columns of the table `batches` are added up as in `sums_of`. The result also contains the
    number of the last batch, with the key `batch`.
    """
    sums = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in COUNTS)
    (found,) = tables.query(
        f"SELECT count(*) AS batches, coalesce(max(batch), 0) AS batch, {sums} FROM {{batches}} "
        "WHERE batch > :batch",
        batch=batch,
    )
    return found


def row_of(tables: Tables, batch: int, counted: Counted) -> dict[str, Any]:
    """Return a batch's row for the table `batches`.

    All other rows of the batch must be in the tables already.
    """
    asked = []
    if counted.events_new is None:
        asked.append(_EVENTS)
    if counted.is_refusing:
        asked.append(_QUARANTINE)
    found = tables.query(" UNION ALL ".join(asked), batch=batch) if asked else []
    count: dict[str, int] = defaultdict(int, {row["name"]: row["number"] for row in found})
    count |= {f"segments_{state}": number for state, number in counted.segments.items()}
    count["events_new"] += counted.events_new or 0
    count["readings_new"] = counted.readings_new
    count["events_duplicate"] = counted.good_lines - count["events_new"] - count["refused_event"]
    count["readings_duplicate"] = counted.records - counted.readings_new - count["refused_reading"]
    count["batch"] = batch
    counts = {name: count[name] for name in ("batch", *COUNTS)}
    return counts | {"finished_at": datetime.now(UTC)}
