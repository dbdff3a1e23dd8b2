"""Converts SenML packs in CBOR (RFC 8428 section 6) to measurements, and measurements to packs.

A pack is an array of maps with these integer labels::

    bver -1 | bn -2 | bt -3 | bu -4 | bv -5 | n 0 | u 1 | v 2 | vs 3 | vb 4 | t 6 | ut 7 | vd 8

A base value (such as bt) applies to its record and the records that follow. Numbers are integers,
floats or decimal fractions (tag 4). Sums (`s`, `bs`) are rejected, because a reading needs a value.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from io import BytesIO

import cbor2

from firmware_bridge.protocols.cbor_shape import check_shape
from firmware_bridge.protocols.frame import Damaged, checked_text, checked_time
from firmware_bridge.readings.measurement import INTEGER_MAX, MEASUREMENTS_MAX, Measurement, Value
from firmware_bridge.readings.names import is_name

_BASE_VERSION, _BASE_NAME, _BASE_TIME, _BASE_UNIT, _BASE_VALUE = -1, -2, -3, -4, -5
_NAME, _UNIT, _NUMBER, _STRING, _BOOLEAN, _SUM, _TIME, _DATA = 0, 1, 2, 3, 4, 5, 6, 8
_BASE_SUM = -6
# RFC 8428 section 4.4 defines version 10.
_VERSION_KNOWN = 10
_UNIT_CHARACTERS_MAX = 32


def read_pack(pack: bytes) -> list[Measurement]:
    """Decode the measurements in a SenML pack, in order.

    Raises:
        Damaged: with reason "cbor" if the bytes are not CBOR, or "senml" if the pack is not valid
            SenML. If only one part of a record is invalid, the reason names this part: "version",
            "name", "value", "time" or "text".
    """
    records = _decode(pack)
    if not isinstance(records, list) or not 1 <= len(records) <= MEASUREMENTS_MAX:
        raise Damaged("senml")
    base: dict[int, object] = {}
    measurements: list[Measurement] = []
    for record in records:
        if not isinstance(record, dict):
            raise Damaged("senml")
        for label, field in record.items():
            if isinstance(label, str) and label.endswith("_"):
                raise Damaged("senml")  # RFC 8428 section 4.4: a receiver must know such labels.
            if isinstance(label, int) and label < 0:
                base[label] = field
        measurements.append(_measurement_of(record, base))
    return measurements


def pack_of(measurements: Sequence[Measurement]) -> bytes:
    """Encode measurements as a SenML pack, as a board does.

    Floats become decimal fractions, which are shorter and exact.
    """
    records: list[dict[int, object]] = []
    for measurement in measurements:
        record: dict[int, object] = {_NAME: measurement.name}
        if measurement.unit is not None:
            record[_UNIT] = measurement.unit
        if measurement.time_seconds is not None:
            record[_TIME] = _decimal_of(measurement.time_seconds)
        value = measurement.value
        if isinstance(value, bool):
            record[_BOOLEAN] = value
        elif isinstance(value, str):
            record[_STRING] = value
        elif isinstance(value, bytes):
            record[_DATA] = value
        else:
            record[_NUMBER] = _decimal_of(value)
        records.append(record)
    return cbor2.dumps(records)


def _decode(pack: bytes) -> object:
    check_shape(pack)
    try:
        decoded: object = cbor2.CBORDecoder(BytesIO(pack), allow_duplicate_keys=False).decode()
    except cbor2.CBORDecodeError:
        raise Damaged("cbor") from None
    return decoded


def _measurement_of(record: dict[object, object], base: dict[int, object]) -> Measurement:
    version = base.get(_BASE_VERSION, _VERSION_KNOWN)
    if not isinstance(version, int) or version > _VERSION_KNOWN:
        raise Damaged("version")
    name = _text(base.get(_BASE_NAME, "")) + _text(record.get(_NAME, ""))
    if not is_name(name):
        raise Damaged("name")
    unit = record.get(_UNIT, base.get(_BASE_UNIT))
    if unit is not None and not _is_unit(_text(unit)):
        raise Damaged("senml")
    time_seconds: float | None = None
    if _TIME in record or _BASE_TIME in base:
        time_seconds = _number(base.get(_BASE_TIME, 0)) + _number(record.get(_TIME, 0))
        checked_time(time_seconds)
    return Measurement(
        name, _value_of(record, base), None if unit is None else _text(unit), time_seconds
    )


def _value_of(record: dict[object, object], base: dict[int, object]) -> Value:
    given = [label for label in (_NUMBER, _STRING, _BOOLEAN, _DATA) if label in record]
    if len(given) > 1 or _SUM in record or _BASE_SUM in base:
        raise Damaged("senml")
    if not given or given[0] == _NUMBER:
        if not given and _BASE_VALUE not in base:
            raise Damaged("senml")
        value = _number(base.get(_BASE_VALUE, 0)) + _number(record.get(_NUMBER, 0))
        return _number(value)
    field = record[given[0]]
    if given[0] == _BOOLEAN and isinstance(field, bool):
        return field
    if given[0] == _DATA and isinstance(field, bytes):
        return field
    if given[0] == _STRING:
        return _text(field)
    raise Damaged("senml")


def _is_unit(unit: str) -> bool:
    return 1 <= len(unit) <= _UNIT_CHARACTERS_MAX and unit.isprintable()


def _text(field: object) -> str:
    if not isinstance(field, str):
        raise Damaged("senml")
    return checked_text(field)


def _number(field: object) -> float:
    if isinstance(field, Decimal):
        field = float(field)
    if isinstance(field, bool) or not isinstance(field, int | float):
        raise Damaged("senml")
    # `isfinite` would raise for an integer that is too large for a float.
    if abs(field) > INTEGER_MAX if isinstance(field, int) else not math.isfinite(field):
        raise Damaged("value")
    return field


def _decimal_of(value: float) -> Decimal | int:
    return value if isinstance(value, int) else Decimal(repr(value))
