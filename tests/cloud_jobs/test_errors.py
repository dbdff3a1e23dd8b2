"""A failure of Spark is reported in one line, whatever its message contains."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cloud_jobs.errors import LINE_CHARACTERS_MAX, first_line_of, spark_failures


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[TABLE_NOT_FOUND] no such table", "[TABLE_NOT_FOUND] no such table"),
        ("\n  the reason\n== plan ==\nScan", "the reason"),
        ("x" * 10_000, "x" * LINE_CHARACTERS_MAX),
        ("", "PySparkException"),
        (" \n ", "PySparkException"),
    ],
)
def test_the_first_line_of_a_failure_is_bounded_and_never_empty(text: str, line: str) -> None:
    assert first_line_of(PySparkException(text)) == line


def test_a_failure_of_the_jvm_is_named_without_its_stack(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    with pytest.raises(spark_failures()) as caught:
        jvm.java.util.ArrayList().get(5)
    failure = caught.value
    assert isinstance(failure, Py4JJavaError)
    assert "\n" in str(failure)
    assert "\n" not in first_line_of(failure)
    assert first_line_of(failure).startswith("java.")


def test_a_failure_of_a_worker_is_named_with_what_happened(spark: SparkSession) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(spark_failures()) as caught:
        spark.range(1).mapInArrow(fail, "id long").collect()
    line = first_line_of(caught.value)
    assert line.endswith("OSError: [Errno 28] No space left on device")
    assert "\n" not in line
