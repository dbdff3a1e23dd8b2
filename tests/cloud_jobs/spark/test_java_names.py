"""PySpark's lookups of Java classes and methods are kept while the JVM runs."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from py4j.clientserver import ClientServerConnection
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cloud_jobs.spark.java_names import keep_java_names

LOOKUP = "r\n"
"""The beginning of py4j's commands that look up a class or a member."""


def lookups_of_a_column() -> list[str]:
    sent: list[str] = []
    send = ClientServerConnection.send_command

    def sending(self: ClientServerConnection, command: str) -> str:
        sent.append(command)
        answer: str = send(self, command)
        return answer

    with patch.object(ClientServerConnection, "send_command", sending):
        F.max(F.col("sequence") + F.lit(1))
    assert any(command.startswith("c\n") for command in sent)
    return [command for command in sent if command.startswith(LOOKUP)]


def test_a_column_is_made_without_a_lookup_of_a_name(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    with patch.dict(vars(jvm)):
        kept = [name for name in vars(jvm) if not name.startswith("_")]
        for name in kept:
            delattr(jvm, name)
        assert lookups_of_a_column()
        keep_java_names(spark)
        lookups_of_a_column()
        assert lookups_of_a_column() == []


def test_a_name_that_does_not_exist_is_an_error_each_time(spark: SparkSession) -> None:
    keep_java_names(spark)
    for _ in range(2):
        with pytest.raises(Py4JError, match="no_such_function"):
            spark.sparkContext._jvm.functions.no_such_function(1)  # type: ignore[union-attr]
