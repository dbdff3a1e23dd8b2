"""Layouts of DLMS messages. Each manufacturer arranges codes, values, scales and units differently.

Most meters send the OBIS code before each value, in one flat list or in nested structures. Aidon,
Sagemcom and the Austrian Kaifa meters add a scaler and a unit after the value. Kamstrup meters and
some Landis+Gyr E450 meters do not. The Norwegian Kaifa meters send lists of different lengths,
without codes, and so do all meters in Vienna, the Iskraemeco meters in Slovenia and Croatia, and
some Landis+Gyr E450. Other Landis+Gyr meters send a list of the OBIS codes first, and
then the values.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from firmware_bridge.protocols.dlms_data import TIME_BYTES, Data, Enumerated, Object
from firmware_bridge.protocols.dlms_orders import (
    AMPERE,
    NAMED_CODES,
    USUAL_UNITS,
    VOLT,
    values_in_order,
)
from firmware_bridge.protocols.obis import Code

_CODE_BYTES = 6
_ENDS_FROM = 3
_OBJECT_ELEMENTS = (4, 6)
"""Elements of an entry in a list of objects. Later meters add a restriction and columns."""


def objects_of(data: list[Data], without_code: list[Data]) -> Iterator[Object]:
    """Yield the objects in a decoded message, or nothing if no known layout fits the message.

    Numbers without an OBIS code are appended to `without_code`.
    """
    for found in _objects_of(data, without_code):
        measures = _measures(found.code)
        if found.unit is None and measures is not None and isinstance(found.value, int):
            yield found._replace(unit=USUAL_UNITS.get(measures))
        else:
            yield found


def _objects_of(data: list[Data], without_code: list[Data]) -> Iterator[Object]:
    if _is_list_of_objects(data[0] if data else None):
        yield from _landis_values(data)
    elif data and isinstance(data[0], str) and data[0].startswith("Kamstrup"):
        yield Object(NAMED_CODES["version"], data[0])
        yield from (_kamstrup_object(each) for each in _objects_with_codes(data, without_code))
    else:
        ordered = values_in_order(data, without_code)
        if ordered is not None:
            yield from ordered
            return
        yield from _objects_with_codes(data, without_code)
        yield from _at_ends(data)


def _at_ends(data: list[Data]) -> Iterator[Object]:
    """Yield the values without codes at the ends of a list of codes and values.

    Some meters begin with the time (Sagemcom T210-D, Landis+Gyr E450) and end with their number
    (Sagemcom T210-D, Kaifa MA309).
    """
    if len(data) < _ENDS_FROM:
        return
    first, last = data[0], data[-1]
    if isinstance(first, bytes) and len(first) == TIME_BYTES and code_of(data[1]) is not None:
        yield Object(NAMED_CODES["time"], first)
    is_number = isinstance(last, bytes | str) and code_of(last) is None
    if is_number and code_of(data[-2]) is None and any(map(code_of, data)):
        yield Object(NAMED_CODES["number"], last)


def code_of(data: Data) -> Code | None:
    """Return the OBIS code in an octet string, or None if `data` is not an OBIS code.

    For electricity and for the clock, Nordic meters use channel 1, and other meters use channel 0.
    Channel 1 is changed to 0, so that the quantities have the same names for all meters. For the
    same reason, medium 0 is changed to electricity in registers (Landis+Gyr ZMF100 in Norway).
    """
    if not isinstance(data, bytes) or len(data) != _CODE_BYTES or data[0] > 10:
        return None
    return _code_in(data)


@lru_cache(maxsize=256)  # A meter sends the same codes in each message.
def _code_in(data: bytes) -> Code:
    is_own = data[0] == 1 or data[:3] == b"\x00\x01\x01"
    channel = 0 if data[1] == 1 and is_own else data[1]
    medium = data[0]
    if medium == 0 and data[3] == _REGISTER and data[1] == 0 and data[2] in _REGISTERS:
        medium = 1
    return Code.of([str(each) for each in (medium, channel, *data[2:])])


def _objects_with_codes(data: list[Data], without_code: list[Data]) -> Iterator[Object]:
    """Yield each value that follows an OBIS code, also within nested structures."""
    at = 0
    while at < len(data):
        each = data[at]
        at += 1
        if isinstance(each, list):
            yield from _objects_with_codes(each, without_code)
        elif (code := code_of(each)) is not None and at < len(data):
            value = data[at]
            at += 1
            power, unit = _scale_of(data[at] if at < len(data) else None)
            at += unit is not None
            if unit is None and at + 1 < len(data):  # They may also follow without a structure.
                power, unit = _scale_of(data[at : at + 2])
                at += 0 if unit is None else 2
            yield Object(code, value, power, unit)
        elif isinstance(each, int) and not isinstance(each, bool):
            without_code.append(each)


def _scale_of(data: Data) -> tuple[int | None, int | None]:
    """Return the power of ten and the DLMS code of the unit in the structure `data`.

    The result is (None, None) if `data` is not such a structure.
    """
    if isinstance(data, list) and len(data) == 2:
        power, unit = data
        if isinstance(unit, Enumerated) and isinstance(power, int):
            return power, unit.code
    return None, None


_REGISTERS, _REGISTER = range(1, 5), 8
"""C and D of registers of active and reactive energy."""
_SCALES_OF_KAMSTRUP: Final[Mapping[tuple[str, int], tuple[int, int | None]]] = {
    **{key: (1 if key[0] == "8" else 0, unit) for key, unit in USUAL_UNITS.items()},
    ("7", 11): (-2, AMPERE), ("7", 12): (0, VOLT), ("7", 13): (-2, None),
}  # fmt: skip
"""Powers of ten and units of Kamstrup meters, by D and by C of the total of all phases."""


def _measures(code: Code) -> tuple[str, int] | None:
    """Return D of an OBIS code, and the C that the same quantity has for all phases together.

    For phase L1, C is 20 higher than for the total, for L2 40, and for L3 60. Return None if the
    code is not about electricity.
    """
    c = int(code.c)
    return (code.d, c % 20 if 20 < c < 80 else c) if code.a == "1" else None


def _kamstrup_object(found: Object) -> Object:
    """Add the scale and the unit to an object from a Kamstrup meter, which sends neither.

    Both follow from the OBIS code, because all Kamstrup meters use the same scales. For example,
    they send currents in steps of 0.01 A, and energies in steps of 10 Wh.
    """
    measures = _measures(found.code)
    scale = None if measures is None else _SCALES_OF_KAMSTRUP.get(measures)
    if scale is None or not isinstance(found.value, int):
        return found
    power, unit = scale
    return found._replace(power_of_ten=power, unit=unit)


def _is_list_of_objects(data: Data) -> bool:
    return (
        isinstance(data, list)
        and bool(data)
        and all(
            isinstance(each, list)
            and len(each) in _OBJECT_ELEMENTS
            and isinstance(each[0], int)
            and code_of(each[1]) is not None
            for each in data
        )
    )


def _landis_values(data: list[Data]) -> Iterator[Object]:
    """Yield the values of a Landis+Gyr meter, which sends a list of OBIS codes before all values.

    The list may begin with the code of the list itself. This code has no value and is skipped.
    """
    listed = data[0]
    assert isinstance(listed, list), "the caller has looked"
    codes = [code_of(each[1]) for each in listed if isinstance(each, list)]
    for code, value in zip(codes[-(len(data) - 1) :] if len(data) > 1 else [], data[1:],
                           strict=False):  # fmt: skip
        if code is not None:
            yield Object(code, value)
