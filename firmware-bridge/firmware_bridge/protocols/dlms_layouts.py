"""Layouts of DLMS messages. Each manufacturer arranges codes, values, scales and units differently.

Most meters send the OBIS code before each value, in one flat list or in nested structures. Aidon,
Sagemcom and the Austrian Kaifa meters add a scaler and a unit after the value. Kamstrup meters and
some Landis+Gyr E450 meters do not. The Norwegian Kaifa meters send lists of different lengths,
without codes, and so do all meters in Vienna, the Iskraemeco meters in Slovenia and Croatia, and
the Landis+Gyr E450 in Salzburg. Other Landis+Gyr meters send a list of the OBIS codes first, and
then the values.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from firmware_bridge.protocols.dlms_data import Data, Enumerated, Short
from firmware_bridge.protocols.obis import Code

TIME_BYTES: Final = 12
_CODE_BYTES = 6
_OBJECT_ELEMENTS = (4, 6)
"""Elements of an entry in a list of objects. Later meters add a restriction and columns."""


class Object(NamedTuple):
    """A value with its OBIS code, and the DLMS code of its unit.

    The value must be multiplied by 10 to the power of `power_of_ten`. `power_of_ten` and `unit` are
    None if the meter omits them.
    """

    code: Code
    value: Data
    power_of_ten: int | None = None
    unit: int | None = None


def objects_of(data: list[Data], without_code: list[Data]) -> Iterator[Object]:
    """Yield the objects in a decoded message, or nothing if no known layout fits the message.

    Numbers without an OBIS code are appended to `without_code`.
    """
    for found in _objects_of(data, without_code):
        measures = _measures(found.code)
        if found.unit is None and measures is not None and isinstance(found.value, int):
            yield found._replace(unit=_USUAL_UNITS.get(measures))
        else:
            yield found


def _objects_of(data: list[Data], without_code: list[Data]) -> Iterator[Object]:
    if _is_list_of_objects(data[0] if data else None):
        yield from _landis_values(data)
    elif data and isinstance(data[0], str) and data[0].startswith("Kamstrup"):
        yield from (_kamstrup_object(each) for each in _objects_with_codes(data, without_code))
    else:
        for order in _ORDERS_BY_LENGTH.get(len(data), ()):
            if _fits(data, order):
                yield from _values_in(data, order, without_code)
                return
        yield from _objects_with_codes(data, without_code)


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


_WATT, _VAR, _AMPERE, _VOLT, _WATT_HOUR, _VAR_HOUR = 27, 29, 33, 35, 30, 32
_ACTIVE, _REACTIVE = (1, 2, 15, 16), range(3, 9)
_USUAL_UNITS: Final = {
    **{("7", c): _WATT for c in _ACTIVE}, **{("7", c): _VAR for c in _REACTIVE},
    **{("8", c): _WATT_HOUR for c in _ACTIVE}, **{("8", c): _VAR_HOUR for c in _REACTIVE},
}  # fmt: skip
"""Units of integers from meters that send none, by D and by C of the total of all phases."""
_UNITS_IN_ORDERS: Final = {**_USUAL_UNITS, ("7", 11): _AMPERE, ("7", 12): _VOLT}
_REGISTERS, _REGISTER = range(1, 5), 8
"""C and D of registers of active and reactive energy."""
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


class _Order(NamedTuple):
    """The OBIS codes of the values in a list without codes, and the powers of ten of some of them.

    The names in `_NAMED_CODES` stand for codes that are not about electricity. `has_short` is True
    if the meter sends voltages and currents in 16 bits.
    """

    codes: tuple[str, ...]
    ampere_power: int = -3
    volt_power: int = -1
    has_short: bool = False


_POWERS: Final = ("1.7", "2.7", "3.7", "4.7")
_ENERGIES: Final = ("1.8", "2.8", "3.8", "4.8")
_CURRENTS: Final = ("31.7", "51.7", "71.7")
_VOLTAGES: Final = ("32.7", "52.7", "72.7")
_HEAD: Final = ("version", "number", "type", *_POWERS)
_ONE_PHASE: Final = (*_HEAD, "31.7", "32.7")
_THREE_PHASES: Final = (*_HEAD, *_CURRENTS, *_VOLTAGES)
_ORDERS: Final = (
    # Kaifa in Norway (KFM_001)
    _Order(("1.7",)),
    _Order(_ONE_PHASE),
    _Order(_THREE_PHASES),
    _Order((*_ONE_PHASE, "time", *_ENERGIES)),
    _Order((*_THREE_PHASES, "time", *_ENERGIES)),
    # Vienna (Iskraemeco AM550, Siemens IM350, Landis+Gyr E450)
    _Order(("time", *_ENERGIES, *_POWERS)),
    # Iskraemeco AM550 in Slovenia: every second, every 15 minutes, and another distributor
    _Order(("device", "ean", *_POWERS, *_VOLTAGES, *_CURRENTS, "21.7", "41.7", "61.7", "22.7",
            "42.7", "62.7"), -2, has_short=True),
    _Order(("device", "id_3", "switch", "tariff", "1.8", "1.8.1", "1.8.2", "2.8", "2.8.1", "2.8.2",
            "3.8", "4.8")),
    _Order(("device", "version", *_VOLTAGES, *_CURRENTS, *_POWERS), -2, has_short=True),
    # The same distributors, for one phase
    _Order(("device", "ean", *_POWERS, "32.7", "31.7", "21.7", "22.7"), -2, has_short=True),
    _Order(("device", "ean", *_POWERS, "32.7", "2.8.1", "2.8.2"), has_short=True),
    _Order(("device", "version", "32.7", "31.7", *_POWERS), -2, has_short=True),
    _Order(("device", "id_3", *(f"{c}.8.{e}" for c in range(1, 5) for e in (1, 2)))),
    # Iskraemeco AM550 with a code of the list, an identifier, a time of day and a date
    _Order(("list", "list_id", "text", "text", *_ENERGIES, "1.7", "2.7", "text", "text")),
    # Iskraemeco IE.5 in Croatia, with a time of day and a date, and with five unknown values
    _Order(("number", "text", "text", *(f"{c}.8.{e}" for c in (1, 2) for e in range(3)), "5.8",
            "6.8", "7.8", "8.8", "1.7", "2.7", "13.7", "21.7", "41.7", "61.7", "22.7", "42.7",
            "62.7", *_VOLTAGES, *_CURRENTS, *("?",) * 5), -2, has_short=True),
    # Landis+Gyr E450 in Salzburg
    _Order((*_VOLTAGES, *_CURRENTS, "1.7", "2.7", "1.8", "2.8", "number"), -2, 0, has_short=True),
)  # fmt: skip
"""The orders of values that meters send without codes."""
_ORDERS_BY_LENGTH: Final = {
    len(order.codes): [each for each in _ORDERS if len(each.codes) == len(order.codes)]
    for order in _ORDERS
}
_NAMED_CODES: Final = {
    "version": Code("1", "0", "0", "2", "129"), "number": Code("0", "0", "96", "1", "0"),
    "type": Code("0", "0", "96", "1", "7"), "time": Code("0", "0", "1", "0", "0"),
    "device": Code("0", "0", "42", "0", "0"), "ean": Code("0", "0", "96", "1", "2"),
    "id_3": Code("0", "0", "96", "1", "3"), "switch": Code("0", "0", "96", "3", "10"),
    "tariff": Code("0", "0", "96", "14", "0"), "list_id": Code("0", "6", "25", "9", "0"),
}  # fmt: skip
_UNKNOWN: Final = "?"
_FACTOR_POWER: Final = -3
_LIST_OF_ISKRA: Final = bytes((0, 6, 25, 9, 0, 255))


def _fits(data: list[Data], order: _Order) -> bool:
    """Return True if the values in `data` have the types that the codes in `order` require."""
    return all(
        _may_be(each, written, has_short=order.has_short)
        for each, written in zip(data, order.codes, strict=True)
    )


def _may_be(value: Data, written: str, *, has_short: bool) -> bool:
    """Return True if a value can have the code `written`. A value may be missing."""
    if written == "list":
        return value == _LIST_OF_ISKRA
    if value is None or written == _UNKNOWN:
        return True
    if written == "switch":
        return isinstance(value, int | Enumerated)
    if written[0].isdecimal():
        is_short = has_short and written in (*_VOLTAGES, *_CURRENTS)
        return isinstance(value, Short if is_short else int)
    is_time = isinstance(value, bytes) and len(value) == TIME_BYTES
    return is_time if written == "time" else isinstance(value, bytes | str)


def _values_in(data: list[Data], order: _Order, without_code: list[Data]) -> Iterator[Object]:
    """Yield the values of a list without codes, with the codes, scales and units of its order.

    Numbers that have no known code in the order are appended to `without_code`.
    """
    for value, written in zip(data, order.codes, strict=True):
        if written in _NAMED_CODES:
            yield Object(_NAMED_CODES[written], value)
        elif written[0].isdecimal():
            c, d, e = (*written.split("."), "0")[:3]
            measures = d, int(c) % 20
            powers = {11: order.ampere_power, 12: order.volt_power, 13: _FACTOR_POWER}
            power = powers.get(measures[1], 0)
            yield Object(Code("1", "0", c, d, e), value, power, _UNITS_IN_ORDERS.get(measures))
        elif written == _UNKNOWN and isinstance(value, int):
            without_code.append(value)


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
