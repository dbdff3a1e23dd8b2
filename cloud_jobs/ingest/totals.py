"""What a batch did, as its row of `batches`: the commit that ends it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import functions as F

from cloud_jobs.ingest import quarantine
from cloud_jobs.tables.delta_tables import Tables, each
from cloud_jobs.tables.schemas import BATCHES


@dataclass(frozen=True, slots=True)
class Counted:
    """What is known of a batch without counting its rows."""

    good_lines: int
    """Of its trusted files."""
    records: int
    """Readings in its delivered messages."""
    readings_new: int
    """Those of them that were not there before."""
    segments: int | None = None
    """Where each is ingested; None: they are counted in the table, as in the next one."""
    events_new: int | None = None
    is_refusing: bool = True
    """Whether it may have rows in `quarantine`."""


def row_of(tables: Tables, batch: int, counted: Counted) -> dict[str, object]:
    """Return the row of a batch all of whose rows are in the tables, by the names of BATCHES."""
    mine = F.col("batch") == batch
    asked = [each(tables.read("sessions").where(mine), "sessions")]
    if counted.segments is None:
        state = F.concat(F.lit("segments_"), F.col("state"))
        asked.append(each(tables.read("segments").where(mine), state))
    if counted.events_new is None:
        asked.append(each(tables.read("events").where(mine), "events_new"))
    if counted.is_refusing:
        asked.append(quarantine.sums_of(tables.read("quarantine").where(mine)))
    count = defaultdict(int, tables.sums(asked))
    count["segments_ingested"] += counted.segments or 0
    count["events_new"] += counted.events_new or 0
    count["readings_new"] = counted.readings_new
    count["events_duplicate"] = counted.good_lines - count["events_new"] - count["refused_event"]
    count["readings_duplicate"] = counted.records - counted.readings_new - count["refused_reading"]
    count["batch"] = batch
    names = [field.name for field in BATCHES if field.name != "finished_at"]
    return {name: count[name] for name in names} | {"finished_at": datetime.now(UTC)}
