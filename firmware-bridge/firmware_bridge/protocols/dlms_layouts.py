"""Layouts of DLMS messages. Each manufacturer arranges codes, values, scales and units differently.

Most meters send the OBIS code before each value, in one flat list or in nested structures. Aidon,
Sagemcom and the Austrian Kaifa meters add a scaler and a unit after the value. Kamstrup meters and
some Landis+Gyr E450 meters do not. The Norwegian Kaifa meters send lists of different lengths,
without codes, and all meters in Vienna send one such list. Other Landis+Gyr meters send a list of
the OBIS codes first, and then the values.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from firmware_bridge.protocols.dlms_data import Data, Enumerated
from firmware_bridge.protocols.obis import Code

TIME_BYTES: Final = 12
_CODE_BYTES = 6
_OBJECT_ELEMENTS = 4


class Object(NamedTuple):
    """A value with its OBIS code, and the DLMS code of its unit.

    The value must be multiplied by 10 to the power of `power_of_ten`. `power_of_ten` and `unit` are
    None if the meter omits them.
    """

    code: Code
    value: Data
    power_of_ten: int | None = None
    unit: int | None = None


def objects_of(data: list[Data]) -> Iterator[Object]:
    """Yield the objects in a decoded message, or nothing if no known layout fits the message."""
    for found in _objects_of(data):
        measures = _measures(found.code)
        if found.unit is None and measures is not None and isinstance(found.value, int):
            yield found._replace(unit=_USUAL_UNITS.get(measures))
        else:
            yield found


def _objects_of(data: list[Data]) -> Iterator[Object]:
    if _is_list_of_objects(data[0] if data else None):
        yield from _landis_values(data)
    elif data and isinstance(data[0], str) and data[0].startswith("Kamstrup"):
        yield from (_kamstrup_object(each) for each in _objects_with_codes(data))
    elif _is_list_of_vienna(data):
        yield from _positional_values(data, _VIENNA)
    elif (codes := _KAIFA.get(len(data))) is not None and _may_be_from_kaifa(data, codes):
        yield from _positional_values(data, codes)
    else:
        yield from _objects_with_codes(data)


def _may_be_from_kaifa(data: list[Data], codes: tuple[str, ...]) -> bool:
    """Return True if `data` could be a list of values from a Kaifa meter.

    Such a list contains only values. `codes` contains their OBIS codes, in the same order. The
    value of the code 1.7 (the power) must be an integer. All values before it are texts.
    """
    power = codes.index("1.7")
    if not isinstance(data[power], int) or any(isinstance(each, int) for each in data[:power]):
        return False
    return not any(isinstance(each, list) or code_of(each) is not None for each in data)


def code_of(data: Data) -> Code | None:
    """Return the OBIS code in an octet string, or None if `data` is not an OBIS code.

    For electricity and for the clock, Nordic meters use channel 1, and other meters use channel 0.
    Channel 1 is changed to 0, so that the quantities have the same names for all meters.
    """
    if not isinstance(data, bytes) or len(data) != _CODE_BYTES or data[0] > 10:
        return None
    is_own = data[0] == 1 or data[:3] == b"\x00\x01\x01"
    channel = 0 if data[1] == 1 and is_own else data[1]
    return Code.of([str(each) for each in (data[0], channel, *data[2:])])


def _objects_with_codes(data: list[Data]) -> Iterator[Object]:
    """Yield each value that follows an OBIS code, also within nested structures."""
    at = 0
    while at < len(data):
        each = data[at]
        at += 1
        if isinstance(each, list):
            yield from _objects_with_codes(each)
        elif (code := code_of(each)) is not None and at < len(data):
            value = data[at]
            at += 1
            power, unit = _scale_of(data[at] if at < len(data) else None)
            at += unit is not None
            yield Object(code, value, power, unit)


def _scale_of(data: Data) -> tuple[int | None, int | None]:
    """Return the power of ten and the DLMS code of the unit in the structure `data`.

    The result is (None, None) if `data` is not such a structure.
    """
    if isinstance(data, list) and len(data) == 2:
        power, unit = data
        if isinstance(unit, Enumerated) and isinstance(power, int):
            return power, unit.code
    return None, None


_WATT, _VAR, _AMPERE, _VOLT, _WATT_HOUR, _VAR_HOUR = 27, 29, 33, 35, 30, 32
_USUAL_UNITS: Final = {
    ("7", 1): _WATT, ("7", 2): _WATT, ("7", 16): _WATT, ("7", 3): _VAR, ("7", 4): _VAR,
    ("8", 1): _WATT_HOUR, ("8", 2): _WATT_HOUR, ("8", 3): _VAR_HOUR, ("8", 4): _VAR_HOUR,
}  # fmt: skip
"""Units of integers from meters that send none, by D and by C of the total of all phases."""
_SCALES_OF_KAMSTRUP: Final[Mapping[tuple[str, int], tuple[int, int | None]]] = {
    **{key: (1 if key[0] == "8" else 0, unit) for key, unit in _USUAL_UNITS.items()},
    ("7", 11): (-2, _AMPERE), ("7", 12): (0, _VOLT), ("7", 13): (-2, None),
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


_POWERS: Final = ("1.7", "2.7", "3.7", "4.7")
_ENERGIES: Final = ("1.8", "2.8", "3.8", "4.8")
_HEAD: Final = ("version", "number", "type", *_POWERS)
_ONE_PHASE: Final = (*_HEAD, "31.7", "32.7")
_THREE_PHASES: Final = (*_HEAD, "31.7", "51.7", "71.7", "32.7", "52.7", "72.7")
_KAIFA: Final = {
    1: ("1.7",),
    9: _ONE_PHASE,
    13: _THREE_PHASES,
    14: (*_ONE_PHASE, "time", *_ENERGIES),
    18: (*_THREE_PHASES, "time", *_ENERGIES),
}
"""The order of the values in a list from a Norwegian Kaifa meter (KFM_001), by the list's length.
"""
_TEXTS_OF_KAIFA: Final = {
    "version": ("1", "0", "0", "2", "129"),
    "number": ("0", "0", "96", "1", "0"),
    "type": ("0", "0", "96", "1", "7"),
    "time": ("0", "0", "1", "0", "0"),
}


_VIENNA: Final = ("time", *_ENERGIES, *_POWERS)
"""The order of the values in a list from a meter in Vienna (Iskraemeco AM550, Siemens IM350,
Landis+Gyr E450)."""


def _is_list_of_vienna(data: list[Data]) -> bool:
    """Return True if `data` is a time and eight integers.

    A list from a Kaifa meter can have nine values too, but its first three are texts.
    """
    time = data[0] if len(data) == len(_VIENNA) else None
    is_time = isinstance(time, bytes) and len(time) == TIME_BYTES
    return is_time and all(isinstance(each, int) for each in data[1:])


def _positional_values(data: list[Data], codes: tuple[str, ...]) -> Iterator[Object]:
    """Yield the values of a list without codes. `codes` contains the codes in the same order."""
    for value, written in zip(data, codes, strict=True):
        if written in _TEXTS_OF_KAIFA:
            yield Object(Code(*_TEXTS_OF_KAIFA[written]), value)
            continue
        c, _, d = written.partition(".")
        code = Code("1", "0", c, d, "0")
        if d == "8":
            yield Object(code, value, 0, _WATT_HOUR if c in ("1", "2") else _VAR_HOUR)
        elif c in ("31", "51", "71"):
            yield Object(code, value, -3, _AMPERE)
        elif c in ("32", "52", "72"):
            yield Object(code, value, -1, _VOLT)
        else:
            yield Object(code, value, 0, _VAR if c in ("3", "4") else _WATT)


def _is_list_of_objects(data: Data) -> bool:
    return (
        isinstance(data, list)
        and bool(data)
        and all(
            isinstance(each, list)
            and len(each) == _OBJECT_ELEMENTS
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
