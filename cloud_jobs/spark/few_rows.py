"""Rows that many queries ask for, as values: none of them plans again how they were found."""

from __future__ import annotations

from pyspark.sql import DataFrame

from cloud_jobs.limits import VALUES_MAX


def as_values(rows: DataFrame) -> DataFrame:
    """Return the same rows, held by the driver where they are at most VALUES_MAX; else as they
    are."""
    found = rows.limit(VALUES_MAX + 1).toArrow()
    if found.num_rows > VALUES_MAX:
        return rows
    return rows.sparkSession.createDataFrame(found, rows.schema)
