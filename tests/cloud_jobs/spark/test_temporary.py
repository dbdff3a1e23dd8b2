"""Settings that apply for a block; then the session has its own again."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cloud_jobs.spark.temporary import temporary_settings

SET, UNSET = "spark.sql.shuffle.partitions", "spark.sql.files.maxRecordsPerFile"


def test_the_settings_of_the_session_hold_again_however_a_block_ends(spark: SparkSession) -> None:
    def fail() -> None:
        with temporary_settings(spark, {SET: "7", UNSET: "9"}):
            assert (spark.conf.get(SET), spark.conf.get(UNSET)) == ("7", "9")
            raise KeyError

    before = spark.conf.get(SET), spark.conf.get(UNSET)
    with pytest.raises(KeyError):
        fail()
    assert (spark.conf.get(SET), spark.conf.get(UNSET)) == before


def test_a_session_that_is_gone_does_not_hide_why_the_block_ended(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(name: str, value: str) -> None:
        raise PySparkException(name)

    def fail() -> None:
        with temporary_settings(spark, {SET: "7"}):
            monkeypatch.setattr(spark.conf, "set", gone)
            raise KeyError

    before = spark.conf.get(SET)
    with pytest.raises(KeyError):
        fail()
    monkeypatch.undo()
    spark.conf.set(SET, str(before))
