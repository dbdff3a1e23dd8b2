"""Conversion of SenML records to rows of `sensor_readings`, as Arrow columns."""

from __future__ import annotations

import json
import re
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.tables.schemas import READINGS

ARROW_READINGS: Final = to_arrow_schema(READINGS, timezone="UTC")
_BOARDS: Final = "board-"
"""Prefix of the names of boards. Other devices do not use it, and do not number their frames."""
_BOOT_BITS: Final = 32
"""Bits of a board's own start number. Higher bits count how often the board repeated that
number."""
_BY_SENSOR: Final = ("senml_device", "senml_boot", "senml_sequence", "name", "position")
_BY_MESSAGE: Final = ("store", "message", "position")
_ESCAPED: Final = r'["\\\x00-\x1f]'
_OWN_NAMES: Final = {
    "senml_device": "device",
    "senml_boot": "device_boot",
    "senml_sequence": "device_sequence",
    "senml_vs": "string_value",
    "senml_vb": "boolean_value",
    "senml_vd": "data_value",
    "time": "delivered_at",
}
"""Columns of RECORDS that have another name in `sensor_readings`."""


def reading_columns(records: pa.RecordBatch, batch: int) -> pa.RecordBatch:
    """Convert SenML records to rows of the schema READINGS. Refused records are omitted."""
    good = records.filter(pc.is_null(records.column("wrong")))
    found = {_OWN_NAMES.get(name, name): good.column(name) for name in good.schema.names}
    found |= {
        "identity": _identities(good),
        "batch": pa.repeat(pa.scalar(batch, pa.int64()), good.num_rows),
        "time": _times(good.column("seconds")),
        "quantity": _quantities(good.column("topic")),
        "board_start": _board_starts(good),
    }
    return pa.record_batch([found[field.name] for field in ARROW_READINGS], ARROW_READINGS)


def _times(seconds: pa.DoubleArray) -> pa.TimestampArray:
    """Convert seconds since 1970 to timestamps, truncated to whole microseconds."""
    microseconds = pc.trunc(pc.multiply(seconds, 1_000_000.0)).cast(pa.int64())
    return microseconds.cast(ARROW_READINGS.field("time").type)


def _quantities(topics: pa.StringArray) -> pa.StringArray:
    """Return the quantity named in each topic. Each distinct topic is parsed once."""
    distinct = topics.dictionary_encode()
    found = pa.array(map(_quantity, distinct.dictionary.to_pylist()), pa.string())
    return found.take(distinct.indices)


def _quantity(topic: str | None) -> str | None:
    if topic is None or not topic.startswith("sensors/"):
        return None
    levels = topic.split("/", 3)
    return levels[2] if len(levels) > 2 else None


def _board_starts(records: pa.RecordBatch) -> pa.Int64Array:
    """For each record, return how often the board had already used its current start number.

    A board numbers its starts. After it is flashed or replaced, it uses earlier numbers again. For
    the first use of a number, the result is null (docs/formats/readings.md).
    """
    again = pc.shift_right(records.column("senml_boot"), _BOOT_BITS)
    is_board = pc.starts_with(records.column("senml_device"), _BOARDS)
    return pc.if_else(pc.and_(is_board, pc.greater(again, 0)), again, None)


def _identities(records: pa.RecordBatch) -> pa.StringArray:
    """Return the deduplication keys of readings.

    If the sensor sent frame numbers, a key contains them. Otherwise it contains the message number.
    Each key also contains the position of the record, because two records in a payload may have the
    same name.
    """
    column = {name: records.column(name) for name in (*_BY_SENSOR, *_BY_MESSAGE)}
    is_numbered = reduce(pc.and_, (pc.is_valid(column[name]) for name in _BY_SENSOR[:3]))
    texts = {name: _plain(values) for name, values in column.items()}
    found = pc.if_else(
        is_numbered,
        _joined([texts[name] for name in _BY_SENSOR]),
        _joined([texts[name] for name in _BY_MESSAGE]),
    )
    if not found.null_count:
        return found
    left = records.filter(pc.is_null(found))
    return pc.replace_with_mask(found, pc.is_null(found), _identities_one_by_one(left))


def _plain(values: pa.Array) -> pa.StringArray:
    """Convert values to strings. Strings with characters that JSON would escape become null."""
    if values.type != pa.string():
        return values.cast(pa.string())
    distinct = values.dictionary_encode()
    is_odd = pc.match_substring_regex(distinct.dictionary, _ESCAPED)
    return pc.if_else(is_odd, None, distinct.dictionary).take(distinct.indices)


def _joined(texts: list[pa.StringArray]) -> pa.StringArray:
    """Join the strings of each row into a JSON array.

    The result for a row is null if one of its strings is null.
    """
    parts: list[object] = ['["']
    for text in texts:
        parts += [text, '","']
    return pc.binary_join_element_wise(*parts[:-1], '"]', "")


def _identities_one_by_one(records: pa.RecordBatch) -> pa.StringArray:
    sensors = zip(*(records.column(name).to_pylist() for name in _BY_SENSOR), strict=True)
    messages = zip(*(records.column(name).to_pylist() for name in _BY_MESSAGE), strict=True)
    found = []
    for by_sensor, by_message in zip(sensors, messages, strict=True):
        found.append(_json_of(by_message if None in by_sensor[:3] else by_sensor))
    return pa.array(found, pa.string())


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CONTROL: Final = re.compile(r"\\\\|\\u00[01][0-9a-f]")


def _json_of(values: tuple[Any, ...]) -> str:
    """Return `values` as a JSON array, with the same escapes as Spark's `to_json`.

    Earlier versions wrote the deduplication keys with `to_json`. New keys must have the same form.
    """
    text = _ENCODER.encode([None if value is None else str(value) for value in values])
    if "\\u00" in text:
        text = _CONTROL.sub(lambda found: _with_large_digits(found[0]), text)
    return text


def _with_large_digits(escape: str) -> str:
    return escape if escape == r"\\" else rf"\u{escape[2:].upper()}"
