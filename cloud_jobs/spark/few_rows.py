"""Materialises rows that several queries read, so that Spark computes them only once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from cloud_jobs.limits import VALUES_BYTES_MAX, VALUES_MAX
from cloud_jobs.spark.effort import is_effort_small


def as_values(rows: DataFrame) -> DataFrame:
    """Compute rows immediately, and return a DataFrame that holds them in the driver's memory.

    Queries of the new DataFrame do not compute the rows again. If there are more than VALUES_MAX
    rows or VALUES_BYTES_MAX bytes, return `rows` unchanged.
    """
    found = rows.limit(VALUES_MAX + 1).toArrow()
    if found.num_rows > VALUES_MAX or found.nbytes > VALUES_BYTES_MAX:
        return rows
    return rows.sparkSession.createDataFrame(found, rows.schema)


@contextmanager
def held(rows: DataFrame) -> Iterator[DataFrame]:
    """Yield the rows for several queries: in the driver's memory, or in Spark's cache if too many.

    Queries of rows in memory have short plans, which Spark analyses quickly.
    """
    if is_effort_small(rows.sparkSession):
        # The cache would generate code for these columns.
        values = as_values(rows)
        if values is not rows:
            yield values
            return
    cached = rows.persist()
    try:
        yield as_values(cached)
    finally:
        cached.unpersist()
