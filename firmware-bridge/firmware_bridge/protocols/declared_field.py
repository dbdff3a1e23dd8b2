"""Decodes numbers at fixed positions: fields of binary frames, and Modbus registers."""

import math
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.no_value import (
    NoValue,
    NoValues,
    why_no_value,
)
from firmware_bridge.readings.measurement import INTEGER_MAX, Measurement, Quantities
from firmware_bridge.readings.scaling import OutOfRange, scaled
from gateway.process.declarations.names import Name
from gateway.process.declarations.quantities import Factor, Number, Text, Whole
from gateway.process.declarations.section import Section

Form = Literal["u8", "i8", "u16", "i16", "u24", "u32", "i32", "u64", "i64", "f32", "f64"]
ByteOrder = Literal["big", "little"]

Unit = Annotated[str, Text(r"[!-~]{1,32}", '1 to 32 ASCII characters, like "Cel"')]
"""A SenML unit, or any other unit that the consumers of the readings understand."""

_FLOAT_32_MAX = 3.4e38
_FLOATS: Final = {"f32": "f", "f64": "d"}


def bytes_of_form(form: str) -> int:
    """Return the size of numbers in this format, in bytes. For example, "u16" takes 2 bytes."""
    return int(form[1:]) // 8


@dataclass(frozen=True, kw_only=True)
class FrameField(Section):
    """Settings of one quantity in a binary frame: position, number format, scale and unit."""

    descriptions: ClassVar = {
        "name": "Name of the quantity.",
        "at": "Position of the number: the count of bytes before it in the frame.",
        "type": "Format of the number: unsigned, signed or floating point, and its number of bits.",
        "no_value": 'Numbers in this field that mean "no value".',
        "scale": "Factor by which the number is multiplied.",
        "offset": "Value that is added after scaling.",
        "unit": "SenML unit of the quantity.",
    }

    name: Name
    at: Annotated[int, Whole(0, 255)]
    type: Form = "u8"
    no_value: Annotated[NoValues | None, NoValue()] = None
    scale: Annotated[float, Factor()] = 1
    offset: Annotated[float, Number()] = 0
    unit: Unit | None = None

    @property
    def end(self) -> int:
        """The position of the first byte after the number."""
        return self.at + bytes_of_form(self.type)


def values_of(
    fields: Sequence[FrameField], data: bytes, order: ByteOrder, skipped: Counter[str]
) -> Quantities:
    """Decode all fields of the frame in `data`. `order` is the byte order.

    `skipped` counts the fields that contain a number for "no value" (`no_value`), or a float that
    is infinite or NaN (`not_measured`).

    Raises:
        Damaged: with reason "value" if a number is out of range.
    """
    quantities: Quantities = {}
    for field in fields:
        raw = data[field.at : field.end]
        in_order = raw if order == "big" else raw[::-1]
        reason = why_no_value(in_order, field.type, field.no_value)
        if reason is not None:
            skipped[reason] += 1
        else:
            value = read_number(raw, field.type, order, field.scale, field.offset)
            quantities[field.name] = [Measurement(field.name, value, field.unit)]
    return quantities


def read_number(
    data: bytes, form: str, order: ByteOrder, scale: float = 1, offset: float = 0
) -> float:
    """Decode the number in `data`. `form` is the number format, such as "u16".

    `order` is the byte order. The result is the number multiplied by `scale`, plus `offset`.

    Raises:
        Damaged: with reason "value" if the number is infinite, not a number, or out of range.
    """
    assert len(data) == bytes_of_form(form), "the caller cuts the bytes out"
    number: float
    if form in _FLOATS:
        (number,) = struct.unpack((">" if order == "big" else "<") + _FLOATS[form], data)
        if form == "f32" and math.isfinite(number):
            number = _shortest_of(number)
    else:
        number = int.from_bytes(data, order, signed=form[0] == "i")
    if not math.isfinite(number) or (isinstance(number, int) and abs(number) > INTEGER_MAX):
        raise Damaged("value")
    try:
        return scaled(number, scale=scale, offset=offset)
    except OutOfRange:
        raise Damaged("value") from None


def _shortest_of(number: float) -> float:
    """Return the shortest decimal number that rounds to the same 32-bit float as `number`.

    For example, the result is 0.1 instead of 0.100000001.
    """
    if abs(number) > _FLOAT_32_MAX:
        return number  # If rounded up, it would not fit in a 32-bit float.
    bits = struct.pack(">f", number)
    rounded = (float(f"{number:.{digits}g}") for digits in range(6, 10))
    return next((each for each in rounded if struct.pack(">f", each) == bits), number)
