"""The columns of readings equal the results of Spark's own functions for the same records."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.reading_columns import ARROW_READINGS, reading_columns
from cloud_jobs.tables.schemas import RECORDS

ARROW_RECORDS = to_arrow_schema(RECORDS, timezone="UTC")
NAMES = (
    "n", 'a"b', "a\\b", "\\u001f", "tab\tend", *map(chr, range(1, 32)), "\x7f", "é", "\u2028", "😀",
    "\\\\u00ab", "/", "<&>",
)  # fmt: skip
TOPICS = ("sensors/d/q", "sensors/d", "sensors/", "sensors", "sensors/d/q/r", "other/d/q", "", None)
DEVICES = ("board-00", "boar", None, "Bücher")
BOOTS = (None, 0, 3, 2**32 - 1, 2**32 + 3, 5 * 2**32, 2**62, -1)
SECONDS = (0.0, 1763715105.123456, 0.0000009, 1e9 + 1e-7, 253402300799.0, 12.9999999)


def records() -> list[dict[str, Any]]:
    """Return records with each given value, combined with the next values of the others."""
    return [
        {
            "gateway": "gw-1", "store": "5", "message": None if n % 11 == 0 else n,
            "topic": TOPICS[n % len(TOPICS)], "boot": "b", "sequence": n,
            "time": datetime(2026, 11, 25, tzinfo=UTC), "clock": "unknown",
            "day": date(2026, 11, 25), "position": n % 3, "name": NAMES[n % len(NAMES)],
            "senml_device": DEVICES[n % len(DEVICES)], "senml_boot": BOOTS[n % len(BOOTS)],
            "senml_sequence": None if n % 5 == 0 else n, "seconds": SECONDS[n % len(SECONDS)],
            "value": 1.5, "senml_vs": "s", "wrong": "refused" if n % 7 == 0 else None,
        }
        for n in range(500)
    ]  # fmt: skip


def test_they_are_those_of_spark(spark: SparkSession) -> None:
    batch = pa.RecordBatch.from_pylist(records(), ARROW_RECORDS)
    found = reading_columns(batch, 7)
    assert found.schema == ARROW_READINGS
    numbers = ["senml_device", "senml_boot", "senml_sequence"]
    as_text = [F.col(name).cast("string") for name in (*numbers, "name", "position")]
    by_message = [F.col(name).cast("string") for name in ("store", "message", "position")]
    is_numbered = F.expr(" AND ".join(f"{name} IS NOT NULL" for name in numbers))
    again = F.shiftright("senml_boot", 32)
    expected = (
        spark.createDataFrame(pa.Table.from_batches([batch]), RECORDS)
        .where("wrong IS NULL")
        .select(
            F.when(is_numbered, F.to_json(F.array(*as_text)))
            .otherwise(F.to_json(F.array(*by_message)))
            .alias("identity"),
            F.col("seconds").cast("timestamp").alias("time"),
            F.when(
                F.col("topic").startswith("sensors/"), F.get(F.split("topic", "/"), F.lit(2))
            ).alias("quantity"),
            F.when(F.col("senml_device").startswith("board-") & (again > 0), again).alias(
                "board_start"
            ),
        )
        .toArrow()
    )
    assert expected.num_rows == found.num_rows > 400
    for name in expected.column_names:
        assert found.column(name).to_pylist() == expected.column(name).to_pylist(), name


def test_all_other_columns_are_those_of_the_record() -> None:
    batch = pa.RecordBatch.from_pylist(records()[1:2], ARROW_RECORDS)
    (row,) = reading_columns(batch, 7).to_pylist()
    (record,) = batch.to_pylist()
    assert row["batch"] == 7
    same = ("gateway", "name", "value", "topic", "store", "message", "position", "boot", "sequence")
    for name in (*same, "day", "clock", "unit", "sum"):
        assert row[name] == record[name]
    assert (row["device"], row["device_boot"], row["device_sequence"]) == ("boar", 0, 1)
    assert (row["string_value"], row["boolean_value"], row["data_value"]) == ("s", None, None)
    assert row["delivered_at"] == record["time"]


_texts = st.text(max_size=3) | st.sampled_from(NAMES) | st.none()
_numbers = st.none() | st.integers(-(2**63), 2**63 - 1)
_columns = {
    "senml_device": _texts, "senml_boot": _numbers, "senml_sequence": _numbers, "name": _texts,
    "position": st.integers(0, 9), "store": _texts, "message": _numbers, "topic": _texts,
}  # fmt: skip


@given(st.lists(st.fixed_dictionaries(_columns), max_size=6))
def test_an_identity_is_an_array_of_json(rows: list[dict[str, Any]]) -> None:
    found = reading_columns(pa.RecordBatch.from_pylist(rows, ARROW_RECORDS), 7)
    expected = []
    for row in rows:
        sensor = [row[name] for name in ("senml_device", "senml_boot", "senml_sequence", "name")]
        numbers = [row["store"], row["message"]] if None in sensor[:3] else sensor
        texts = [None if one is None else str(one) for one in [*numbers, row["position"]]]
        expected.append(texts)
    assert [json.loads(one) for one in found.column("identity").to_pylist()] == expected
