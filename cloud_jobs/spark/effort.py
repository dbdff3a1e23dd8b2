"""What Spark prepares for a batch: what pays off for millions of rows costs a small batch seconds.

A few thousand rows are through an interpreted plan before its code would be generated, compiled and
thrown away, and one partition is written sooner than the sizes of several are measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from cloud_jobs.when_needed import Session, WhenNeeded

_SMALL: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
}


@contextmanager
def small_effort(session: Session, *, is_small: bool = True) -> Iterator[None]:
    """Let Spark prepare little while the block lasts, where that is what it is for."""
    before: dict[str, str | None] = {}
    prepared: list[SparkSession] = []

    def prepare(spark: SparkSession) -> None:
        before.update({name: spark.conf.get(name, None) for name in _SMALL})
        prepared.append(spark)
        for name, value in _SMALL.items():
            spark.conf.set(name, value)

    if not is_small:
        yield
        return
    try:
        if isinstance(session, WhenNeeded):
            with session.prepared(prepare):
                yield
        else:
            prepare(session)
            yield
    finally:
        for spark in prepared:
            for name, value in before.items():
                if value is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, value)
