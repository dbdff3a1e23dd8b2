"""Readings are read without Spark."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.query.readings import Chosen, QueryError, last_readings, readings_of_day
from cloud_jobs.tables.schemas import READINGS
from tests.cloud_jobs.conftest import Ingested

DAY = datetime.date(2026, 11, 25)
ALL = Chosen()


def at(hour: int, day: datetime.date = DAY) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(hour), datetime.UTC)


def reading(sequence: int, **changes: Any) -> dict[str, Any]:
    row = {
        "gateway": "attic", "device": "kettle", "name": "kettle/temperature", "unit": "Cel",
        "quantity": "temperature", "time": at(sequence), "delivered_at": at(sequence),
        "sequence": sequence, "position": 0, "value": 20.0 + sequence, "day": DAY,
    }  # fmt: skip
    return row | changes


@pytest.fixture
def tables(tmp_path: Path) -> str:
    rows = [
        reading(1),
        reading(2),
        # Measured at night, and delivered the next day.
        reading(3, time=at(23), day=DAY + datetime.timedelta(days=1)),
        reading(4, gateway="hall", device="door", name="door/open", value=None, unit=None,
                quantity="open", boolean_value=False),
        reading(5, device="it's", name="it's/state", value=None, string_value="<on>",
                quantity="state", day=DAY - datetime.timedelta(days=40),
                time=at(5, DAY - datetime.timedelta(days=40))),
    ]  # fmt: skip
    schema = to_arrow_schema(READINGS, timezone="UTC")
    write_deltalake(
        str(tmp_path / "sensor_readings"),
        pa.Table.from_pylist(rows, schema=schema),
        partition_by=["day"],
    )
    return str(tmp_path)


def names(rows: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(row["name"], row["value"]) for row in rows]


def test_the_last_reading_of_each_quantity_of_the_newest_days(tables: str) -> None:
    found = last_readings(tables, ALL, days=31, limit=10)
    assert names(found) == [("kettle/temperature", 23.0), ("door/open", False)]
    everything = last_readings(tables, ALL, days=60, limit=10)
    assert names(everything)[0] == ("it's/state", "<on>")
    assert len(last_readings(tables, ALL, days=60, limit=2)) == 2


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Chosen(gateway="hall"), ["door/open"]),
        (Chosen(device="it's"), ["it's/state"]),
        (Chosen(name="temperature"), ["kettle/temperature"]),
        (Chosen(name="kettle/temperature"), ["kettle/temperature"]),
        (Chosen(device="' OR true --"), []),
    ],
)
def test_readings_are_chosen_by_gateway_device_and_name(
    tables: str, chosen: Chosen, expected: list[str]
) -> None:
    assert [row["name"] for row in last_readings(tables, chosen, days=60, limit=9)] == expected


def test_a_day_has_the_readings_measured_on_it_whenever_they_were_delivered(tables: str) -> None:
    found = readings_of_day(tables, Chosen(device="kettle"), day=DAY, limit=10)
    assert [(row["time"], row["value"]) for row in found] == [
        (at(1), 21.0), (at(2), 22.0), (at(23), 23.0),
    ]  # fmt: skip
    assert readings_of_day(tables, ALL, day=DAY + datetime.timedelta(days=1), limit=10) == []


def test_tables_that_do_not_exist_are_one_line_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"run `oncegate ingest` first$"):
        last_readings(str(tmp_path), ALL, days=1, limit=1)


def test_what_was_ingested_is_found(ingested: Ingested) -> None:
    found = last_readings(ingested.place.settings.tables, ALL, days=3_650, limit=100_000)
    rows = ingested.place.rows("sensor_readings")
    newest = max(row["day"] for row in rows)
    within = [row for row in rows if (newest - row["day"]).days < 3_650]
    keys = {(row["gateway"], row["device"], row["name"]) for row in within}
    assert {(row["gateway"], row["device"], row["name"]) for row in found} == keys
    assert len(found) == len(keys)
