"""From events to one row a session.

Each event is new in exactly one batch, so counts add up and are never taken twice; what is
"latest" is decided by `sequence`, which rises across restarts, so batches may come in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.session_parts import COUNTS, LATEST, PARTS, SESSION, USED, parts_of
from cloud_jobs.tables.merge import Builder
from cloud_jobs.tables.schemas import SESSIONS

ON: Final = "old.gateway = new.gateway AND old.store = new.store AND old.session = new.session"


def parts_in(events: DataFrame) -> DataFrame:
    """Return rows of PARTS for events: a session may have several."""

    def parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield parts_of(batch)

    return events.where("session IS NOT NULL").select(*USED).mapInArrow(parts, PARTS)


def combined(parts: DataFrame, batch: int) -> DataFrame:
    """Put rows of PARTS together, as rows of `sessions`."""
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
        *(F.max(sequence).alias(sequence) for sequence in LATEST),
    )
    state = F.expr(_state("connect_sequence", "close_sequence", "end_sequence"))
    stamped = found.withColumn("state", state).withColumn("batch", F.lit(batch).cast("long"))
    return stamped.select(*SESSIONS.fieldNames())


def together(parts: pa.Table, batch: int) -> pa.Table:
    """Put rows of PARTS together as `combined` does, without Spark."""
    counts = ("events", *COUNTS)
    found = parts.group_by([*SESSION], use_threads=False).aggregate(
        [("first_sequence", "min"), ("last_sequence", "max"), ("opened", "min")]
        + [(name, "sum") for name in counts]
        + [(sequence, "max") for sequence in LATEST]
    )
    names = {f"{name}_{what}": name for name, what in (
        ("first_sequence", "min"), ("last_sequence", "max"), ("opened", "min"),
        *((name, "sum") for name in counts), *((sequence, "max") for sequence in LATEST),
    )}  # fmt: skip
    found = found.rename_columns([names.get(name, name) for name in found.schema.names])
    for sequence, columns in {"last_sequence": ("client_id",), **LATEST}.items():
        found = found.join(_latest(parts, sequence, columns), [*SESSION], join_type="left outer")
    connect, close, end = (found.column(name) for name in LATEST)
    is_connected = pc.greater(pc.coalesce(connect, 0), pc.coalesce(close, 0))
    state = pc.if_else(pc.is_valid(end), "ended", pc.if_else(is_connected, "connected", "away"))
    number = pa.repeat(pa.scalar(batch, pa.int64()), found.num_rows)
    found = found.append_column("state", state).append_column("batch", number)
    return found.select(SESSIONS.fieldNames()).cast(to_arrow_schema(SESSIONS, timezone="UTC"))


def _latest(parts: pa.Table, sequence: str, columns: Sequence[str]) -> pa.Table:
    """Return the columns of the row of each session that has the greatest of a sequence."""
    known = parts.filter(pc.is_valid(parts.column(sequence))).sort_by(sequence)
    last = pc.ScalarAggregateOptions(skip_nulls=False)
    found = known.group_by([*SESSION], use_threads=False).aggregate(
        [(name, "last", last) for name in columns]
    )
    return found.rename_columns([name.removesuffix("_last") for name in found.schema.names])


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
