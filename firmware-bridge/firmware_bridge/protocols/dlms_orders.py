"""Orders of the values in DLMS messages of meters that send no OBIS codes.

Kaifa meters in Norway, all meters in Vienna, Iskraemeco meters in Slovenia and Croatia, and some
Landis+Gyr E450 send lists of values. The length of a list and the types of its values determine
which order it has.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from firmware_bridge.protocols.dlms_data import TIME_BYTES, Data, Enumerated, Object, Short
from firmware_bridge.protocols.obis import Code

_WATT, _VAR, AMPERE, VOLT, _WATT_HOUR, _VAR_HOUR = 27, 29, 33, 35, 30, 32
_ACTIVE, _REACTIVE = (1, 2, 15, 16), range(3, 9)
USUAL_UNITS: Final = {
    **{("7", c): _WATT for c in _ACTIVE}, **{("7", c): _VAR for c in _REACTIVE},
    **{("8", c): _WATT_HOUR for c in _ACTIVE}, **{("8", c): _VAR_HOUR for c in _REACTIVE},
}  # fmt: skip
"""Units of integers from meters that send none, by D and by C of the total of all phases."""
_UNITS_IN_ORDERS: Final = {**USUAL_UNITS, ("7", 11): AMPERE, ("7", 12): VOLT}


class _Order(NamedTuple):
    """The OBIS codes of the values in a list without codes, and the powers of ten of some of them.

    The names in `NAMED_CODES` stand for codes that are not about electricity. `has_short` is True
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
    # Landis+Gyr E450, from a recording that names no grid
    _Order((*_VOLTAGES, *_CURRENTS, "1.7", "2.7", "1.8", "2.8", "number"), -2, 0, has_short=True),
)  # fmt: skip
"""The orders of values that meters send without codes."""
_ORDERS_BY_LENGTH: Final = {
    len(order.codes): [each for each in _ORDERS if len(each.codes) == len(order.codes)]
    for order in _ORDERS
}
NAMED_CODES: Final = {
    "version": Code("1", "0", "0", "2", "129"), "number": Code("0", "0", "96", "1", "0"),
    "type": Code("0", "0", "96", "1", "7"), "time": Code("0", "0", "1", "0", "0"),
    "device": Code("0", "0", "42", "0", "0"), "ean": Code("0", "0", "96", "1", "2"),
    "id_3": Code("0", "0", "96", "1", "3"), "switch": Code("0", "0", "96", "3", "10"),
    "tariff": Code("0", "0", "96", "14", "0"), "list_id": Code("0", "6", "25", "9", "0"),
}  # fmt: skip
_UNKNOWN: Final = "?"
_FACTOR_POWER: Final = -3
_LIST_OF_ISKRA: Final = bytes((0, 6, 25, 9, 0, 255))


def values_in_order(data: list[Data], without_code: list[Data]) -> list[Object] | None:
    """Return the values of a list without codes, or None if the list fits no known order.

    Numbers whose codes are unknown are appended to `without_code`.
    """
    for order in _ORDERS_BY_LENGTH.get(len(data), ()):
        if _fits(data, order):
            return list(_values_in(data, order, without_code))
    return None


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
        if written in NAMED_CODES:
            yield Object(NAMED_CODES[written], value)
        elif written[0].isdecimal():
            c, d, e = (*written.split("."), "0")[:3]
            measures = d, int(c) % 20
            powers = {11: order.ampere_power, 12: order.volt_power, 13: _FACTOR_POWER}
            power = powers.get(measures[1], 0)
            yield Object(Code("1", "0", c, d, e), value, power, _UNITS_IN_ORDERS.get(measures))
        elif written == _UNKNOWN and isinstance(value, int):
            without_code.append(value)
