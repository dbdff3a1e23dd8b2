"""From a delivered message's payload to SenML records (docs/formats/readings.md, RFC 8428).

A payload is refused or read as a whole. Pure but for `records_of`, which hands messages to Python
as Arrow columns: only topics and payloads become Python values, all else is passed on as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.limits import PACK_CHARACTERS_MAX
from cloud_jobs.tables.schemas import DELIVERED, RECORDS

_RELATIVE_SECONDS_MAX: Final = 2**28
_SECONDS_MAX: Final = 253_402_300_799
_INTEGERS: Final = range(-(2**63), 2**63)
_TYPES: Final = {
    # Fields of RFC 8428 and ours, in the order in which they are checked.
    "bn": "text",
    "bt": "number",
    "bu": "text",
    "bv": "number",
    "bs": "number",
    "n": "text",
    "t": "number",
    "u": "text",
    "v": "number",
    "vs": "text",
    "vb": "truth",
    "vd": "text",
    "s": "number",
    "device": "text",
    "boot": "integer",
    "sequence": "integer",
}
ELSEWHERE: Final = "the topic is not sensors/<its device>/<its quantity>"


class RefusedPackError(ValueError):
    """The payload is no SenML JSON, or not that of its topic. The text is the rule broken."""


class Record(NamedTuple):
    """One resolved record: the columns of RECORDS from `position` on."""

    position: int
    senml_device: str | None
    senml_boot: int | None
    senml_sequence: int | None
    name: str
    unit: str | None
    seconds: float
    value: float | None
    senml_vs: str | None
    senml_vb: bool | None
    senml_vd: str | None
    sum: float | None


def records_of(delivered: DataFrame) -> DataFrame:
    """Return rows of RECORDS: one for each record, one with `wrong` for a payload without any."""
    return delivered.select(*DELIVERED.fieldNames()).mapInArrow(_records, RECORDS)


def records_in(payload: str, topic: str | None, received_seconds: float) -> list[Record]:
    """Return the records of a pack that was received then. Raises RefusedPackError."""
    found, wrong = _resolved(_pack_of(payload), received_seconds, len(topic or ""))
    if wrong:
        # Of several the same one, whatever the order of the records.
        raise RefusedPackError(min(wrong))
    levels = (topic or "").split("/")
    if any(_is_elsewhere(record, levels) for record in found):
        raise RefusedPackError(ELSEWHERE)
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return value


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object_of, parse_constant=_refuse_constant)


def _pack_of(payload: str) -> list[Any]:
    try:
        pack = _DECODER.decode(payload)
        if "\\u" in payload:
            # A lone surrogate is no character: it could not be written to a table as it is.
            json.dumps(pack, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise RefusedPackError("the payload is not JSON") from None
    if not isinstance(pack, list):
        raise RefusedPackError("the payload is no JSON array")
    if not pack:
        raise RefusedPackError("the pack has no records")
    return pack


def _resolved(
    pack: list[Any], received_seconds: float, topic_characters: int
) -> tuple[list[Record], list[str]]:
    """Resolve base fields (RFC 8428 section 4.6): each holds for its record and all after it."""
    base: dict[str, Any] = {}
    found: list[Record] = []
    wrong: list[str] = []
    room = PACK_CHARACTERS_MAX
    for position, fields in enumerate(pack):
        mistyped = _mistyped(fields)
        if mistyped is not None:
            wrong.append(mistyped)
            continue
        base |= {name: fields[name] for name in _BASES if fields.get(name) is not None}
        record = _record_of(position, fields, base, received_seconds)
        room -= topic_characters + len(record.name) + len(record.unit or "")
        if room < 0:
            raise RefusedPackError(f"its records have more than {PACK_CHARACTERS_MAX} characters")
        rule = _wrong_record(record)
        if rule is None:
            found.append(record)
        else:
            wrong.append(rule)
    return found, wrong


_BASES: Final = ("bn", "bt", "bu", "bv", "bs")


def _mistyped(fields: object) -> str | None:
    """Name the first field of a record that differs from RFC 8428 or readings.md, or None."""
    if not isinstance(fields, dict):
        return "a record is no JSON object"
    for name, kind in _TYPES.items():
        value = fields.get(name)
        if value is not None and not _is(kind, value):
            return f"`{name}` of a record is no {kind}"
    return None


def _is(kind: str, value: object) -> bool:
    match kind:
        case "text":
            return type(value) is str
        case "truth":
            return type(value) is bool
        case "integer":
            return type(value) is int and value in _INTEGERS
        case _:
            return type(value) in (int, float)


def _number(value: float | None) -> float:
    """Return a number as the nearest float: 0 for none, infinity beyond all floats."""
    try:
        return float(value or 0)
    except OverflowError:
        return math.inf


def _record_of(
    position: int, fields: dict[str, Any], base: dict[str, Any], received_seconds: float
) -> Record:
    given = _number(base.get("bt")) + _number(fields.get("t"))
    # RFC 8428 section 4.5.3: a time below 2**28 is relative to now; now is when it was delivered.
    seconds = received_seconds + given if given < _RELATIVE_SECONDS_MAX else given
    others = [fields.get(name) for name in ("vs", "vb", "vd", "s")]
    value = total = None
    if fields.get("v") is not None:
        value = _number(base.get("bv")) + _number(fields["v"])
    elif others == [None] * 4 and base.get("bv") is not None:
        value = _number(base["bv"])
    if fields.get("s") is not None:
        total = _number(base.get("bs")) + _number(fields["s"])
    unit = fields.get("u")
    return Record(
        position=position,
        senml_device=fields.get("device"),
        senml_boot=fields.get("boot"),
        senml_sequence=fields.get("sequence"),
        name=(base.get("bn") or "") + (fields.get("n") or ""),
        unit=base.get("bu") if unit is None else unit,
        seconds=seconds,
        value=value,
        senml_vs=fields.get("vs"),
        senml_vb=fields.get("vb"),
        senml_vd=fields.get("vd"),
        sum=total,
    )


def _wrong_record(record: Record) -> str | None:
    values = (record.value, record.senml_vs, record.senml_vb, record.senml_vd)
    count = len(values) - values.count(None)
    if not record.name:
        return "a record has no name"
    if count > 1:
        return "a record has more than one value"
    if count == 0 and record.sum is None:
        return "a record has no value"
    if not math.isfinite((record.value or 0.0) + (record.sum or 0.0)):
        return "a number is out of range"
    if not 0 <= record.seconds <= _SECONDS_MAX:
        return "a time is out of range"
    return None


def _is_elsewhere(record: Record, levels: list[str]) -> bool:
    """Return whether a record that names its device has the topic of another device, or of
    another quantity (docs/formats/readings.md): its numbers are then not trusted.

    A sentence of NMEA 0183 is one quantity, with a name for each of its fields below that.
    """
    device = record.senml_device
    if device is None:
        return False
    if len(levels) != 3 or levels[:2] != ["sensors", device]:
        return True
    own_name = f"{device}/{levels[2]}"
    return record.name != own_name and not record.name.startswith(f"{own_name}/")


_ARROW: Final = to_arrow_schema(RECORDS, timezone="UTC")
_OF_RECORD: Final = [field for field in _ARROW if field.name not in DELIVERED.fieldNames()]
_OF_REFUSED: Final = ("payload", "payload_base64", "client_id")
"""Columns of a message that only a refused payload's row has: one pack can have many records."""
_RESOLVED: Final = len(_OF_RECORD) - 2
_NOTHING: Final = (0, *(None,) * (_RESOLVED - 1))


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield records_of_batch(batch)


def records_of_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of RECORDS for rows of DELIVERED."""
    received = batch.column("time").cast(pa.int64()).to_pylist()
    rows: list[tuple[object, ...]] = []
    sources: list[int] = []
    payloads, topics = batch.column("payload").to_pylist(), batch.column("topic").to_pylist()
    for index, (payload, topic) in enumerate(zip(payloads, topics, strict=True)):
        try:
            if payload is None:
                raise RefusedPackError("the payload is not UTF-8")
            found = records_in(payload, topic, received[index] / 1_000_000)
            rows += ((*record, None, False) for record in found)
            sources += [index] * len(found)
        except RefusedPackError as refusal:
            rows.append((*_NOTHING, str(refusal), str(refusal) == ELSEWHERE))
            sources.append(index)
    columns = list(zip(*rows, strict=True)) or [()] * len(_OF_RECORD)
    made = [pa.array(column, field.type) for column, field in zip(columns, _OF_RECORD, strict=True)]
    every = pa.array(sources, pa.int64())
    of_refused = pc.if_else(pc.is_valid(made[-2]), every, None)
    taken = [
        batch.column(name).take(of_refused if name in _OF_REFUSED else every)
        for name in DELIVERED.fieldNames()
    ]
    return pa.record_batch([*taken, *made], _ARROW)
