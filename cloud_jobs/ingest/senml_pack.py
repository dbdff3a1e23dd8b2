"""Converts one payload to SenML records (docs/formats/readings.md, RFC 8428).

A payload is accepted or refused as a whole. This is the reference implementation: `senml_columns`
parses the usual payloads of gateways faster, with the same result.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NamedTuple

from cloud_jobs.limits import PACK_CHARACTERS_MAX

RELATIVE_SECONDS_MAX: Final = 2**28
SECONDS_MAX: Final = 253_402_300_799
_INTEGERS: Final = range(-(2**63), 2**63)
TYPES: Final = {
    # Fields of RFC 8428 and our own, in the order in which they are checked.
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
    """Error that is raised if a payload is not SenML JSON, or does not match its topic.

    The message states the rule that the payload breaks.
    """


class Record(NamedTuple):
    """A SenML record whose base fields are resolved.

    The fields are the last columns of the schema RECORDS.
    """

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


def records_in(payload: str, topic: str | None, received_seconds: float) -> list[Record]:
    """Return the records of a SenML pack (array).

    `received_seconds` is the time of delivery in seconds since 1970, to which relative times in the
    pack refer. Raises RefusedPackError if the pack breaks a rule.
    """
    found, wrong = _resolved(_pack_of(payload), received_seconds, len(topic or ""))
    if wrong:
        # If several rules are broken, report the same one for any order of the records.
        raise RefusedPackError(min(wrong))
    levels = (topic or "").split("/")
    if any(is_elsewhere(record.senml_device, record.name, levels) for record in found):
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
            # A lone surrogate is not a valid character and could not be written to a table
            # unchanged.
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
    """Resolve base fields: each applies to its record and all later ones (RFC 8428 section 4.6).

    Return the valid records, and a description of each broken rule. Raises RefusedPackError if the
    records are too long in total. The length of a record is that of its name, its unit, and the
    topic (`topic_characters`).
    """
    base: dict[str, Any] = {}
    found: list[Record] = []
    wrong: list[str] = []
    room = PACK_CHARACTERS_MAX
    for position, fields in enumerate(pack):
        mistyped = _mistyped(fields)
        if mistyped is not None:
            wrong.append(mistyped)
            continue
        base |= {name: fields[name] for name in BASES if fields.get(name) is not None}
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


BASES: Final = ("bn", "bt", "bu", "bv", "bs")


def _mistyped(fields: object) -> str | None:
    """Return an error text for the first field with a wrong type, or None if no type is wrong."""
    if not isinstance(fields, dict):
        return "a record is no JSON object"
    for name, kind in TYPES.items():
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
    """Convert a number to the nearest float.

    None becomes 0. A number that is too large for a float becomes infinity.
    """
    try:
        return float(value or 0)
    except OverflowError:
        return math.inf


def _record_of(
    position: int, fields: dict[str, Any], base: dict[str, Any], received_seconds: float
) -> Record:
    given = _number(base.get("bt")) + _number(fields.get("t"))
    # RFC 8428 section 4.5.3: a time below 2**28 is relative to now, which is the time of delivery.
    seconds = received_seconds + given if given < RELATIVE_SECONDS_MAX else given
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
    if not 0 <= record.seconds <= SECONDS_MAX:
        return "a time is out of range"
    return None


def is_elsewhere(device: str | None, name: str, levels: list[str]) -> bool:
    """Return True if a record names a device, but its topic names another device or quantity.

    The frame numbers of such a record are not trusted (docs/formats/readings.md). The name of a
    record may also be the topic's quantity followed by `/` and a field, as in NMEA 0183 sentences.
    """
    if device is None:
        return False
    if len(levels) != 3 or levels[:2] != ["sensors", device]:
        return True
    own_name = f"{device}/{levels[2]}"
    return name != own_name and not name.startswith(f"{own_name}/")
