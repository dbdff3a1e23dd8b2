"""A merge without Spark changes, replaces and adds rows, as one application transaction."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema

from cloud_jobs.tables.adding import has_seen
from cloud_jobs.tables.local_merge import LocalMerge

COLUMNS = pa.schema([("key", pa.string()), ("number", pa.int64())])


def table_of(folder: Path, *rows: tuple[str, int]) -> DeltaTable:
    table = DeltaTable.create(folder, Schema.from_arrow(COLUMNS))
    LocalMerge(
        table, columns(*rows), "old.key = new.key", "first", 1
    ).whenNotMatchedInsertAll().execute()
    return table


def columns(*rows: tuple[str, int]) -> pa.Table:
    return pa.Table.from_pylist([{"key": key, "number": n} for key, n in rows], COLUMNS)


def rows_of(folder: Path) -> dict[str, int]:
    found = DeltaTable(folder).to_pyarrow_table().to_pylist()
    return {row["key"]: row["number"] for row in found}


def test_rows_that_are_there_are_combined_and_others_are_added(tmp_path: Path) -> None:
    table = table_of(tmp_path, ("a", 1), ("b", 2))
    merge = LocalMerge(table, columns(("b", 5), ("c", 7)), "old.key = new.key", "second", 3)
    merge.whenMatchedUpdate({"number": "old.number + new.number"}).whenNotMatchedInsertAll()
    merge.execute()
    assert rows_of(tmp_path) == {"a": 1, "b": 7, "c": 7}
    now = DeltaTable(tmp_path)
    assert [has_seen(now, "second", n) for n in (3, 4)] == [True, False]


def test_rows_are_replaced_where_a_condition_holds(tmp_path: Path) -> None:
    table = table_of(tmp_path, ("a", 1), ("b", 2))
    merge = LocalMerge(table, columns(("a", 8), ("b", 9)), "old.key = new.key", "second", 1)
    merge.whenMatchedUpdateAll("old.number = 2").execute()
    assert rows_of(tmp_path) == {"a": 1, "b": 9}
