"""Rows become files by their days, each with what Delta has to know of it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cloud_jobs.tables import data_files
from cloud_jobs.tables.data_files import CHARACTERS_MAX, INDEXED_COLUMNS, written

SCHEMA = pa.schema(
    [
        ("gateway", pa.string()),
        ("sequence", pa.int64()),
        ("time", pa.timestamp("us", "UTC")),
        ("value", pa.float64()),
        ("clean", pa.bool_()),
        ("payload", pa.string()),
        ("day", pa.date32()),
    ]
)
LONG = "z" * (CHARACTERS_MAX + 1)


def rows_of(sequences: range, *days: int, payload: str | None = None) -> pa.RecordBatch:
    """Rows of which each has the next one of these days of November."""
    return pa.RecordBatch.from_pylist(
        [
            {
                "gateway": f"gw-{number % 3}",
                "sequence": number,
                "time": datetime(2026, 11, 25, 1, 2, 3, 1000 * number, UTC),
                "value": number / 2,
                "clean": None if number % 2 else True,
                "payload": payload,
                "day": date(2026, 11, days[index % len(days)]),
            }
            for index, number in enumerate(sequences)
        ],
        SCHEMA,
    )


def files_of(folder: Path, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    return [row for made in written(folder, SCHEMA, iter(batches)) for row in made.to_pylist()]


def test_rows_of_each_day_are_a_file_whose_statistics_are_those_of_its_rows(tmp_path: Path) -> None:
    made = files_of(tmp_path, rows_of(range(4), 24, 25), rows_of(range(10, 12), 25, payload=LONG))
    assert [(file["day"].day, file["rows"]) for file in made] == [(24, 2), (25, 4)]
    for file in made:
        path = tmp_path / file["path"]
        assert file["path"].startswith(f"day={file['day'].isoformat()}/part-")
        assert file["bytes"] == path.stat().st_size
    later = pq.ParquetFile(tmp_path / made[1]["path"]).read()
    assert later.schema.equals(pa.schema([field for field in SCHEMA if field.name != "day"]))
    assert later.column("sequence").to_pylist() == [1, 3, 10, 11]
    # Neither floats nor booleans are compared, and what is longer is not known.
    assert json.loads(made[1]["statistics"]) == {
        "numRecords": 4,
        "minValues": {"gateway": "gw-0", "sequence": 1, "time": "2026-11-25T01:02:03.001000Z"},
        "maxValues": {"gateway": "gw-2", "sequence": 11, "time": "2026-11-25T01:02:03.011000Z"},
        "nullCount": {
            "gateway": 0, "sequence": 0, "time": 0, "value": 0, "clean": 3, "payload": 2,
        },
    }  # fmt: skip


def test_no_rows_are_no_files(tmp_path: Path) -> None:
    assert files_of(tmp_path) == []
    assert files_of(tmp_path, rows_of(range(0))) == []
    assert list(tmp_path.iterdir()) == []


def test_a_task_has_few_files_open_and_none_above_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_files, "OPEN_FILES_PER_TASK_MAX", 2)
    made = files_of(tmp_path, *(rows_of(range(3), day) for day in (1, 2, 1, 3, 1, 2)))
    # The third day closes that of the second, which was not written for longer.
    assert [(file["day"].day, file["rows"]) for file in made] == [(2, 3), (3, 3), (1, 9), (2, 3)]
    monkeypatch.setattr(data_files, "FILE_BYTES_MAX", 100)
    monkeypatch.setattr(data_files, "ROW_GROUP_ROWS", 5)
    made = files_of(tmp_path, *(rows_of(range(3), 9) for _ in range(5)))
    assert [file["rows"] for file in made] == [6, 6, 3]


def test_columns_behind_those_that_are_indexed_have_no_statistics(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(INDEXED_COLUMNS + 2)]
    schema = pa.schema([*((name, pa.int64()) for name in names), ("day", pa.date32())])
    row = dict.fromkeys(names, 1) | {"day": date(2026, 11, 25)}
    (made,) = written(tmp_path, schema, [pa.RecordBatch.from_pylist([row], schema)])
    (statistics,) = (json.loads(text) for text in made.column("statistics").to_pylist())
    for known in ("minValues", "maxValues", "nullCount"):
        assert list(statistics[known]) == names[:INDEXED_COLUMNS]
