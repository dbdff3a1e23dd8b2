"""DLMS data in A-XDR encoding: a type tag, then the value (DLMS UA 1000-2, section 9.5)."""

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from firmware_bridge.protocols.dlms_security import length_at
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.obis import Code

TIME_BYTES: Final = 12
DEPTH_MAX: Final = 8
"""Maximum nesting depth of structures. Meters send two or three levels."""
_NULL, _ARRAY, _STRUCTURE, _TRUTH, _BITS = 0, 1, 2, 3, 4
_OCTETS, _TEXT, _UTF8, _BCD, _ENUM = 9, 10, 12, 13, 22
_INTEGERS: Final = {5: (4, True), 6: (4, False), 15: (1, True), 16: (2, True), 17: (1, False),
                    18: (2, False), 20: (8, True), 21: (8, False)}  # fmt: skip
_SHORT_BYTES: Final = 2
_UNSIGNED, _NO_TAGS, _SWAPPED_CODE_BYTES = 6, (b"\x07", b"\x08"), 7
"""Landis+Gyr ZMF100 meters swap the tag and the length of some OBIS codes: `06 09` in place of `09
06`. The byte after the apparent integer is then D of the code, 7 or 8. These are not tags."""
_FLOATS: Final = {23: ">f", 24: ">d"}
_TIMES: Final = {25: 12, 26: 5, 27: 4}


@dataclass(frozen=True, slots=True)
class Enumerated:
    """A value of a DLMS enumeration, which is usually the code of a unit."""

    code: int


class Short(int):
    """An integer that the meter sent in 16 bits. Some lists without codes differ only in this."""


Data = int | float | bool | str | bytes | Enumerated | list["Data"] | None
"""A decoded DLMS value. Arrays and structures become lists, octet strings become bytes."""


class Object(NamedTuple):
    """A value with its OBIS code, and the DLMS code of its unit.

    The value must be multiplied by 10 to the power of `power_of_ten`. `power_of_ten` and `unit` are
    None if the meter omits them.
    """

    code: Code
    value: Data
    power_of_ten: int | None = None
    unit: int | None = None


def data_at(buffer: bytes, at: int, depth: int = DEPTH_MAX) -> tuple[Data, int]:
    """Decode the value at the position `at`. Return the value and the position after it.

    `depth` is the maximum number of nested arrays and structures.

    Raises:
        Damaged: with reason "dlms" if the value is invalid or truncated.
    """
    tag, at = _take(buffer, at, 1)
    kind = tag[0]
    if kind in (_ARRAY, _STRUCTURE):
        count, at = _length(buffer, at)
        if depth == 0 or count > len(buffer) - at:
            raise Damaged("dlms")
        elements: list[Data] = []
        for _ in range(count):
            element, at = data_at(buffer, at, depth - 1)
            elements.append(element)
        return elements, at
    if kind in _INTEGERS:
        size, signed = _INTEGERS[kind]
        raw, at = _take(buffer, at, size)
        if raw[0] == _OCTETS and kind == _UNSIGNED and buffer[at : at + 1] in _NO_TAGS:
            rest, at = _take(buffer, at, _SWAPPED_CODE_BYTES - size)
            return raw[1:] + rest, at
        number = int.from_bytes(raw, signed=signed)
        return Short(number) if size == _SHORT_BYTES else number, at
    return _plain_at(kind, buffer, at)


def _plain_at(kind: int, buffer: bytes, at: int) -> tuple[Data, int]:
    if kind == _NULL:
        return None, at
    if kind in (_TRUTH, _ENUM, _BCD):
        raw, at = _take(buffer, at, 1)
        return (Enumerated(raw[0]) if kind == _ENUM else raw[0] != 0), at
    if kind in _FLOATS:
        raw, at = _take(buffer, at, struct.calcsize(_FLOATS[kind]))
        (number,) = struct.unpack(_FLOATS[kind], raw)
        return float(f"{number:.7g}" if kind == 23 else number), at
    if kind in _TIMES:
        return _take(buffer, at, _TIMES[kind])
    if kind in (_OCTETS, _TEXT, _UTF8, _BITS):
        count, at = _length(buffer, at)
        raw, at = _take(buffer, at, (count + 7) // 8 if kind == _BITS else count)
        return (raw.decode("utf-8", "replace") if kind in (_TEXT, _UTF8) else raw), at
    raise Damaged("dlms")


def _take(buffer: bytes, at: int, count: int) -> tuple[bytes, int]:
    if at + count > len(buffer):
        raise Damaged("dlms")
    return buffer[at : at + count], at + count


def _length(buffer: bytes, at: int) -> tuple[int, int]:
    found = length_at(buffer, at)
    if found is None:
        raise Damaged("dlms")
    return found
