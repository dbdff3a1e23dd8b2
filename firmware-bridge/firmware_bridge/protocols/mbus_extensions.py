"""Unit codes of M-Bus values and their extension codes (EN 13757-3, VIF and VIFE).

An extension code can change the scale of a value, qualify it, or give it another meaning. For
example, an extension code after the code for a flow temperature can mean the time of the maximum
temperature, or the duration of a temperature beyond a limit.
"""

from typing import Final

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.joined_units import unit_of
from firmware_bridge.protocols.mbus_values import DURATIONS, TABLES, Meaning
from firmware_bridge.protocols.text_values import name_for

_READ_ERRORS = range(0x01, 0x20)
_PHASES: Final = {1: "_l1", 2: "_l2", 3: "_l3", 4: "_neutral"}
_DIVISORS: Final = {
    0x20: "s", 0x21: "min", 0x22: "h", 0x23: "d", 0x24: "week", 0x25: "month", 0x26: "year",
    0x27: "revolution", 0x28: "pulse", 0x29: "pulse", 0x2A: "pulse", 0x2B: "pulse", 0x2C: "l",
    0x2D: "m3", 0x2E: "kg", 0x2F: "K", 0x30: "kWh", 0x31: "GJ", 0x32: "kW", 0x33: "K/l",
    0x34: "V", 0x35: "A",
}  # fmt: skip
"""Units by which the unit of the value is divided."""
_TEXT_UNITS: Final = {"%RH": Meaning("humidity", "%RH")}
"""Units that meters write as text because the standard had no code for them (Elvaco CMa10)."""
_LIMIT_CODES, _DURATION_CODES = range(0x40, 0x60), range(0x60, 0x68)
_TIME_CODES: Final = {0x39: "_start_time", 0x6A: "_first_begin_time", 0x6B: "_first_time",
                      0x6E: "_begin_time", 0x6F: "_time"}  # fmt: skip
_SUFFIXES: Final = {0x00: "", 0x3B: "", 0x3C: "_export",
                    0x68: "_during_lower_limit", 0x6C: "_during_upper_limit"}  # fmt: skip
_POWERS_OF_TEN: Final = {**{0x70 + n: n - 6 for n in range(8)}, 0x7D: 3}


def meaning_of(vif: int, vifes: list[int], text: bytes) -> tuple[Meaning, str]:
    """Return the meaning of the unit code `vif`, and a suffix for the name of the value.

    The extension codes `vifes` determine the suffix, and can change the meaning. If the meter
    describes the value in plain text, `text` contains this description.

    Raises:
        Damaged: with reason "not_measured" if an extension code reports an error.
    """
    rest = list(vifes)
    meaning = _basic_meaning(vif, rest, text)
    suffix = ""
    if vif & 0x7F == 0x7F:  # The manufacturer defines this code and all that follow.
        return meaning, "".join(f"_{each & 0x7F:02x}" for each in rest)
    while rest:
        code = rest.pop(0) & 0x7F
        if code in _READ_ERRORS:
            raise Damaged("not_measured")
        if code == 0x7C and rest:
            following = rest.pop(0) & 0x7F
            suffix += _PHASES.get(following, f"_vife_7c{following:02x}")
        elif code == 0x7F:
            suffix += "_" + "".join(f"{each & 0x7F:02x}" for each in rest) if rest else "_maker"
            break
        else:
            meaning, more = _extended(meaning, code)
            suffix += more
    return meaning, suffix


def _basic_meaning(vif: int, rest: list[int], text: bytes) -> Meaning:
    """Return the meaning of a unit code. Remove the code that selects from its table in `rest`."""
    if vif in (0xFB, 0xFD) and rest:
        code = rest.pop(0) & 0x7F
        return TABLES[vif].get(code, Meaning(f"vif_{vif:02x}{code:02x}"))
    if text:
        label = text.decode("latin-1")
        return _TEXT_UNITS.get(label) or Meaning(name_for(label) or "text", unit_of(label.strip()))
    return TABLES[None].get(vif & 0x7F, Meaning(f"vif_{vif & 0x7F:02x}"))


def _extended(meaning: Meaning, code: int) -> tuple[Meaning, str]:
    """Apply one extension code. Return the new meaning, and a suffix for the name of the value."""
    if code in _POWERS_OF_TEN:
        power = meaning.power_of_ten + _POWERS_OF_TEN[code]
        return meaning._replace(power_of_ten=power), ""
    if code in _DIVISORS:
        unit = None if meaning.unit is None else f"{meaning.unit}/{_DIVISORS[code]}"
        return meaning._replace(unit=unit), f"_vife_{code:02x}"
    if code in _TIME_CODES:
        return Meaning(meaning.name, form="time"), _TIME_CODES[code]
    if code in _LIMIT_CODES:
        return _limit(meaning, code)
    if code in _DURATION_CODES:
        return Meaning(meaning.name, DURATIONS[code & 3]), f"{_first(code)}_duration"
    return meaning, _SUFFIXES.get(code, f"_vife_{code:02x}")


def _limit(meaning: Meaning, code: int) -> tuple[Meaning, str]:
    """Return the meaning of a value that concerns a limit, with bits of the code as follows.

    Bit 3 is set for an upper limit. Bit 2 is set for the last time at which the limit was exceeded,
    and clear for the first time.
    """
    limit = "_upper_limit" if code & 8 else "_lower_limit"
    if code >= 0x50:
        return Meaning(meaning.name, DURATIONS[code & 3]), f"{limit}{_first(code)}_duration"
    if code & 2:
        moment = "_end_time" if code & 1 else "_begin_time"
        return Meaning(meaning.name, form="time"), f"{limit}{_first(code)}{moment}"
    if code & 7 == 1:
        return Meaning(meaning.name), f"{limit}_count"
    return meaning, limit if code & 7 == 0 else f"_vife_{code:02x}"


def _first(code: int) -> str:
    return "" if code & 4 else "_first"
