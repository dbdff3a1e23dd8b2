"""`oncegate query` on existing tables."""

import csv
import datetime
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from gateway.cli.main import run

TIME = datetime.datetime(2026, 11, 25, 8, 30, tzinfo=datetime.UTC)
TEXTS = ("gateway", "device", "name", "string_value", "data_value", "unit", "topic", "clock",
         "quantity")  # fmt: skip
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in TEXTS),
        ("time", pa.timestamp("us", "UTC")),
        ("delivered_at", pa.timestamp("us", "UTC")),
        ("value", pa.float64()),
        ("sum", pa.float64()),
        ("boolean_value", pa.bool_()),
        ("sequence", pa.int64()),
        ("position", pa.int64()),
        ("day", pa.date32()),
    ]
)


@pytest.fixture
def tables(tmp_path: Path) -> str:
    common: dict[str, Any] = {"gateway": "attic", "device": "kettle", "time": TIME,
                              "delivered_at": TIME, "sequence": 1, "position": 0,
                              "day": TIME.date()}  # fmt: skip
    rows = [
        common | {"name": "kettle/temperature", "value": 21.123456789, "unit": "Cel"},
        common | {"name": "kettle/on", "boolean_value": True},
        common | {"name": "kettle/note", "string_value": "=cmd()\x1b[31m"},
    ]
    root = tmp_path / "tables"
    write_deltalake(str(root / "sensor_readings"), pa.Table.from_pylist(rows, schema=SCHEMA))
    return str(root)


def test_the_last_readings_are_a_table(tables: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", "--tables", tables]) == 0
    shown = capsys.readouterr().out
    assert "2026-11-25 08:30:00" in shown
    assert "21.12345679" in shown
    assert "true" in shown
    assert "\x1b" not in shown


def test_json_and_csv_have_whole_values(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["query", "--tables", tables, "--name", "kettle/temperature", "--json"]) == 0
    (reading,) = json.loads(capsys.readouterr().out)["readings"]
    assert (reading["value"], reading["unit"]) == (21.123456789, "Cel")
    assert reading["time"] == "2026-11-25T08:30:00.000+00:00"
    assert run(["query", "--tables", tables, "--day", "2026-11-25", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["value"] for row in rows] == ["'=cmd()\x1b[31m", "true", "21.123456789"]
    file = tmp_path / "day.csv"
    assert run(["query", "--tables", tables, "--day", "2026-11-25", "--output", str(file)]) == 0
    assert capsys.readouterr().out.endswith("day.csv: 3 readings\n")
    assert len(file.read_text().splitlines()) == 4


def test_a_limit_that_is_reached_is_named(tables: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", "--tables", tables, "--limit", "2"]) == 0
    assert "first 2; more with --limit" in capsys.readouterr().err


def test_a_day_without_readings_and_one_that_is_none(
    tables: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["query", "--tables", tables, "--day", "2020-01-01"]) == 0
    assert "no readings on 2020-01-01" in capsys.readouterr().out
    assert run(["query", "--tables", tables, "--day", "yesterday"]) == 2
    assert "use a day like 2026-11-25" in capsys.readouterr().err


def test_no_tables_are_one_line_with_the_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["query", "--tables", str(tmp_path)]) == 1
    assert "run `oncegate ingest` first" in capsys.readouterr().err
