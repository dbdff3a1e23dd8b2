"""Tables of one run: only the rows of its gateways, read once, and again after a write."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from cloud_jobs.gold.held_tables import HeldTables, held_tables
from cloud_jobs.spark import few_rows
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import MergeRule
from cloud_jobs.tables.schemas import schema_of

SCHEMA: Final = schema_of("""
    string  gateway
    integer number
""")
RAISE: Final = MergeRule(
    "old.gateway = new.gateway",
    lambda merge: merge.whenMatchedUpdate({"number": "new.number"}).whenNotMatchedInsertAll(),
)


@pytest.fixture
def stored(spark: SparkSession, tmp_path: Path) -> Tables:
    found = Tables(spark, str(tmp_path), {"one": SCHEMA, "other": SCHEMA}, marker="one")
    making.create(found)
    for name in found.schemas:
        found.append(name, rows_of(found, ("a", 1)), batch=1)
    return found


def rows_of(tables: Tables, *rows: tuple[str, int]) -> DataFrame:
    values: list[tuple[str, int]] = [*rows]
    return tables.spark.createDataFrame(values, SCHEMA)


def content(tables: Tables, name: str = "one") -> dict[str, int]:
    return {row["gateway"]: row["number"] for row in tables.read(name).collect()}


WRITES: Final[dict[str, Callable[[HeldTables], None]]] = {
    "append": lambda held: held.append("one", rows_of(held, ("b", 2)), batch=2),
    "merge": lambda held: held.merge("one", rows_of(held, ("b", 2)), RAISE, batch=2),
    "update": lambda held: held.update("one", rows_of(held, ("b", 2)), RAISE),
    "replace": lambda held: held.replace("one", rows_of(held, ("a", 1), ("b", 2))),
    "replace where": lambda held: held.replace("one", rows_of(held, ("b", 2)), "gateway = 'b'"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_table_is_read_once_until_it_is_written(
    write: Callable[[HeldTables], None], stored: Tables
) -> None:
    held = held_tables(stored)
    assert content(held) == {"a": 1}
    assert held.read("one") is held.read("one")
    other = held.read("other")
    write(held)
    assert content(held) == {"a": 1, "b": 2} == content(stored)
    assert held.read("other") is other


def test_a_merge_that_is_repeated_for_its_batch_changes_nothing(stored: Tables) -> None:
    held = held_tables(stored)
    rule = MergeRule(
        "old.gateway = new.gateway",
        lambda merge: merge.whenMatchedUpdate({"number": "old.number + new.number"}),
    )
    for _ in range(2):
        held.merge("one", rows_of(held, ("a", 5)), rule, batch=2)
    assert content(held) == {"a": 6}


def test_tables_that_are_emptied_are_read_again(stored: Tables) -> None:
    held = held_tables(stored)
    assert content(held) == {"a": 1}
    making.remake(replace(held, schemas={"one": SCHEMA}))
    assert content(held) == {}
    assert content(held, "other") == {"a": 1}


def test_rows_that_are_too_many_are_not_held(
    stored: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, "VALUES_MAX", 1)
    held = held_tables(stored, large=["other"])
    for name in ("one", "other"):
        assert content(held, name) == {"a": 1}
        held.merge(name, rows_of(held, ("b", 2), ("c", 3)), RAISE, batch=2)
        assert content(held, name) == {"a": 1, "b": 2, "c": 3}
    stored.append("other", rows_of(stored, ("d", 4)), batch=3)
    assert len(content(held, "other")) == 4


def test_threads_that_need_a_table_read_it_once(
    stored: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    stored_rows = Tables.stored

    def count(tables: Tables, name: str) -> DataFrame:
        asked.append(name)
        return stored_rows(tables, name)

    monkeypatch.setattr(Tables, "stored", count)
    held = held_tables(stored)
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(held.read, ["one", "other"] * 4)]
    assert sorted(asked) == ["one", "other"]
    assert len({id(rows) for rows in found}) == 2


def test_columns_that_are_not_read_are_not_held(stored: Tables) -> None:
    held = held_tables(stored, unread=["number"])
    assert held.read("one").columns == ["gateway"]
    assert held_tables(stored, ["one"], ["number"]).read("one").columns == SCHEMA.fieldNames()


@pytest.mark.parametrize("large", [[], ["one"]], ids=["held", "large"])
def test_rows_of_other_gateways_are_neither_read_nor_replaced(
    large: list[str], stored: Tables
) -> None:
    stored.append("one", rows_of(stored, ("b'", 1), ("c", 1)), batch=2)
    held = held_tables(stored, large, gateways=frozenset({"a", "b'"}))
    assert content(held) == {"a": 1, "b'": 1}
    held.update("one", rows_of(held, ("a", 5)), RAISE)
    assert content(held) == {"a": 5, "b'": 1}
    held.replace("one", rows_of(held, ("a", 6)))
    assert content(held) == {"a": 6}
    assert content(stored) == {"a": 6, "c": 1}
    held.replace("one", rows_of(held, ("c", 2)), "gateway = 'c'")
    assert content(stored) == {"a": 6, "c": 2}, "the condition decides"
