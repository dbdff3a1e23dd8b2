"""From events to one row a session.

Each event is new in exactly one batch, so counts add up and are never taken twice; what is
"latest" is decided by `sequence`, which rises across restarts, so batches may come in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.ingest.session_parts import (
    COUNTS,
    LATEST,
    NUMBERED_PARTS,
    SESSION,
    USED,
    parts_of,
)
from cloud_jobs.tables.merge import Builder
from cloud_jobs.tables.schemas import SESSIONS

ON: Final = "old.gateway = new.gateway AND old.store = new.store AND old.session = new.session"


def parts_in(events: DataFrame, batch: int) -> DataFrame:
    """Return rows of NUMBERED_PARTS for events: a session may have several."""

    def parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            found = parts_of(rows)
            number = pa.repeat(pa.scalar(batch, pa.int64()), found.num_rows)
            yield found.append_column("batch", number)

    used = events.where("session IS NOT NULL").select(*USED)
    return used.mapInArrow(parts, NUMBERED_PARTS)


def combined(parts: DataFrame) -> DataFrame:
    """Put rows of NUMBERED_PARTS together, as rows of `sessions`."""
    found = parts.groupBy(*SESSION).agg(
        F.max_by("client_id", "last_sequence").alias("client_id"),
        F.min("first_sequence").alias("first_sequence"),
        F.max("last_sequence").alias("last_sequence"),
        F.min("opened").alias("opened"),
        *(F.sum(name).alias(name) for name in ("events", *COUNTS)),
        *(
            F.max_by(name, sequence).alias(name)
            for sequence, columns in LATEST.items()
            for name in columns
        ),
        *(F.max(name).alias(name) for name in (*LATEST, "batch")),
    )
    state = F.expr(_state("connect_sequence", "close_sequence", "end_sequence"))
    return found.withColumn("state", state).select(*SESSIONS.fieldNames())


def _state(connect: str, close: str, end: str) -> str:
    return (
        f"CASE WHEN {end} IS NOT NULL THEN 'ended' "
        f"WHEN coalesce({connect}, 0) > coalesce({close}, 0) THEN 'connected' ELSE 'away' END"
    )


def merge_sessions(builder: Builder) -> Builder:
    """Complete a merge: combine a batch's rows with those of the table."""
    values = {
        "opened": "least(old.opened, new.opened)",
        "client_id": "coalesce(new.client_id, old.client_id)",
        "first_sequence": "least(old.first_sequence, new.first_sequence)",
        "last_sequence": "greatest(old.last_sequence, new.last_sequence)",
        "events": "old.events + new.events",
        "batch": "new.batch",
    }
    values |= {name: f"old.{name} + new.{name}" for name in COUNTS}
    for sequence, columns in LATEST.items():
        newer = f"coalesce(new.{sequence}, 0) > coalesce(old.{sequence}, 0)"
        values |= {n: f"CASE WHEN {newer} THEN new.{n} ELSE old.{n} END" for n in columns}
        values[sequence] = f"greatest(old.{sequence}, new.{sequence})"
    values["state"] = _state(*(values[sequence] for sequence in LATEST))
    return builder.whenMatchedUpdate(set=values).whenNotMatchedInsertAll()
