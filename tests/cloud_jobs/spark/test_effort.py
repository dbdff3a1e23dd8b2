"""Settings for small batches apply during the batch; then the session's own are restored."""

from __future__ import annotations

from pyspark.sql import SparkSession

from cloud_jobs.spark.effort import is_effort_small, small_effort

PARTITIONS = "spark.sql.shuffle.partitions"
WHOLE_STAGE = "spark.sql.codegen.wholeStage"


def test_a_small_effort_is_chosen_for_a_block(spark: SparkSession) -> None:
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "7")
    try:
        with small_effort(spark):
            assert spark.conf.get(PARTITIONS) == "1"
        assert spark.conf.get(PARTITIONS) == "7"
        with small_effort(spark, is_small=False):
            assert spark.conf.get(PARTITIONS) == "7"
    finally:
        spark.conf.set(PARTITIONS, str(before))


def test_it_is_known_whether_the_effort_is_small(spark: SparkSession) -> None:
    before = spark.conf.get(WHOLE_STAGE)
    spark.conf.set(WHOLE_STAGE, "true")  # the session of the tests has it off
    try:
        assert not is_effort_small(spark)
        with small_effort(spark):
            assert is_effort_small(spark)
        assert not is_effort_small(spark)
    finally:
        spark.conf.set(WHOLE_STAGE, str(before))
