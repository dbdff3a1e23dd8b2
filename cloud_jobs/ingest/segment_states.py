"""The table `segments`: what each file was found to be, written when its rows are in the tables."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.landing import SETTLED
from cloud_jobs.tables.merge import Merge
from cloud_jobs.tables.schemas import SEGMENTS

ON: Final = "old.name = new.name"
_OF_THE_BATCH: Final = frozenset({"name", "state", "reason", "detail", "batch", "verified_at"})
"""Columns that are not staged as they are."""


def rows_of(staged: DataFrame, segments: DataFrame, batch: int, *, any_refused: bool) -> DataFrame:
    """Return one row for each file name. Of two files with one name (in two directories) the
    trusted one counts; a refused file with the bytes of a trusted segment is its duplicate."""
    best = Window.partitionBy("name").orderBy(F.col("reason").isNotNull(), "path")
    one = staged.withColumn("nth", F.row_number().over(best)).where("nth = 1")
    if not any_refused:
        # None is a duplicate: no other segment's bytes are asked for.
        return _rows(one.withColumn("owner", F.lit(None).cast("string")), batch)
    known = segments.where(F.col("state").isin("verified", "ingested")).select(
        "file_sha256", "name"
    )
    trusted = one.where("reason IS NULL").select("file_sha256", "name")
    owners = known.unionByName(trusted).groupBy("file_sha256").agg(F.min("name").alias("owner"))
    return _rows(one.join(owners, "file_sha256", "left"), batch)


def _rows(judged: DataFrame, batch: int) -> DataFrame:
    is_duplicate = F.col("reason").isNotNull() & F.col("owner").isNotNull()
    state = (
        F.when(is_duplicate, "duplicate")
        .when(F.col("reason").isNotNull(), "quarantined")
        .otherwise("ingested")
    )
    detail = F.when(is_duplicate, F.concat(F.lit("the bytes of "), "owner"))
    return judged.select(
        "name",
        state.alias("state"),
        F.when(is_duplicate, "duplicate").otherwise(F.col("reason")).alias("reason"),
        F.coalesce(detail, "detail").alias("detail"),
        *(name for name in SEGMENTS.fieldNames() if name not in _OF_THE_BATCH),
        F.lit(batch).cast("long").alias("batch"),
        F.current_timestamp().alias("verified_at"),
    )


def merge_states(builder: Merge) -> Merge:
    """Complete a merge: a settled segment is kept, one in quarantine gets the new verdict, and one
    that an earlier version left `verified` in this batch is ingested now."""
    settled = ", ".join(f"'{state}'" for state in SETTLED)
    return builder.whenMatchedUpdateAll(
        condition=f"old.state NOT IN ({settled}) OR old.batch = new.batch"
    ).whenNotMatchedInsertAll()
