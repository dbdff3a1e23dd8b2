"""Materialisation of rows that many queries read, so that Spark computes the rows only once."""

from __future__ import annotations

from pyspark.sql import DataFrame

from cloud_jobs.limits import VALUES_MAX


def as_values(rows: DataFrame) -> DataFrame:
    """Compute rows now, and return a DataFrame with the results, which the driver keeps in memory.

    Queries of the new DataFrame do not compute the rows again. If there are more than VALUES_MAX
    rows, return `rows` unchanged.
    """
    found = rows.limit(VALUES_MAX + 1).toArrow()
    if found.num_rows > VALUES_MAX:
        return rows
    return rows.sparkSession.createDataFrame(found, rows.schema)
