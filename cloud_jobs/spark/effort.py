"""Spark's preparations for a batch: those that pay off for millions of rows cost a small batch
seconds.

A few thousand rows are through an interpreted plan before its code would be generated, compiled and
thrown away, and one partition is written sooner than the sizes of several are measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

_SMALL: Final = {
    # Tasks and files of rows that the driver has, and of small files.
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
}


@contextmanager
def small_effort(spark: SparkSession, *, is_small: bool = True) -> Iterator[None]:
    """Reduce the time that Spark spends on planning, within the block, if `is_small`."""
    if not is_small:
        yield
        return
    before = {name: spark.conf.get(name, None) for name in _SMALL}
    for name, value in _SMALL.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)
