"""Reduces Spark's planning time for small batches.

Some optimisations save time with millions of rows, but cost seconds with a small batch. For a few
thousand rows, interpreting the plan takes less time than generating and compiling code. Writing a
single partition also takes less time than measuring the sizes of several partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from cloud_jobs.spark.temporary import temporary_settings

_WHOLE_STAGE: Final = "spark.sql.codegen.wholeStage"
_SMALL: Final = {
    # Number of tasks and files, for rows from the driver and for small files.
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    _WHOLE_STAGE: "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    # To read fewer files for a LIMIT, Delta would first read the statistics of all files.
    "spark.databricks.delta.stats.limitPushdown.enabled": "false",
}


@contextmanager
def small_effort(spark: SparkSession, *, is_small: bool = True) -> Iterator[None]:
    """Reduce the time that Spark spends on planning within the block.

    If `is_small` is False (for large batches), Spark's settings are not changed.
    """
    if not is_small:
        yield
        return
    with temporary_settings(spark, _SMALL):
        yield


def is_effort_small(spark: SparkSession) -> bool:
    """Return True within a block of `small_effort`."""
    return spark.conf.get(_WHOLE_STAGE, None) == _SMALL[_WHOLE_STAGE]
