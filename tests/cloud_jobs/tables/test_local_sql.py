"""Queries get the names and the literals of the engine that answers them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql.types import LongType, StructField, StructType

from cloud_jobs.errors import IngestError
from cloud_jobs.tables.local_sql import (
    Values,
    answer,
    quoted_text,
    readable,
    rendered,
    tables_in,
)

COLUMNS = StructType([StructField("n", LongType())])


def made(folder: Path) -> DeltaTable:
    return DeltaTable.create(folder, Schema.from_json(COLUMNS.json()))


def test_tables_are_named_in_braces_and_each_once() -> None:
    assert tables_in("SELECT * FROM {a} JOIN {_staging/00000001} UNION SELECT * FROM {a}") == [
        "a",
        "_staging/00000001",
    ]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "NULL"), (True, "TRUE"), (-7, "-7"), ("it's", "'it''s'"), ([1, "a"], "(1, 'a')"),
        ([], "(NULL)"), ([(1, "a"), (2, None)], "(1, 'a'), (2, NULL)"),
        ("{t} :other", "'{t} :other'"),
    ],
)  # fmt: skip
def test_values_become_literals(value: Values, written: str) -> None:
    sql = rendered("{t} :value {t}", {"value": value}, lambda _: "`a:b`", quoted_text)
    assert sql == f"`a:b` {written} `a:b`"


def test_a_value_that_is_not_given_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        rendered("SELECT :value", {}, str, quoted_text)


def test_rows_are_counted_without_spark_and_a_wrong_query_is_an_error(tmp_path: Path) -> None:
    tables = {"_staging/1": made(tmp_path / "t")}
    (rows,) = answer("SELECT count(*) AS found FROM {_staging/1}", tables, {})
    assert rows.to_pylist() == [{"found": 0}]
    with pytest.raises(IngestError, match="cannot be read"):
        list(answer("SELECT nothing FROM {_staging/1}", tables, {}))


def test_a_table_whose_protocol_is_not_known_is_left_to_spark(tmp_path: Path) -> None:
    made(tmp_path / "t")
    assert readable(str(tmp_path / "t")) is not None
    assert readable(str(tmp_path / "none")) is None
    features = {
        "minReaderVersion": 3, "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"],
    }  # fmt: skip
    commit = tmp_path / "t" / "_delta_log" / f"{1:020d}.json"
    commit.write_text(json.dumps({"protocol": features}))
    assert readable(str(tmp_path / "t")) is None
