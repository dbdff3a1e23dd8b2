"""Recognizes numbers in registers and frames that mean "no value": 0x8000, 0xFFFF, -9999, NaN."""

import math
import re
import struct
from dataclasses import dataclass
from typing import Any, Final

from gateway.process.declarations.quantities import Quantity, refusal

NO_VALUES_MAX: Final = 16
"""Maximum count of "no value" numbers per device, register or field of a frame. Manuals list one
per number format."""
_BITS: Final = (16, 32, 64)
_TEXT: Final = re.compile(r"0[xX][0-9A-Fa-f]{1,16}|[nN][aA][nN]", re.ASCII)

NoValues = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NoValue(Quantity):
    """Type of the setting `no_value`: one number or a list of numbers.

    A number is an integer, a float, or a string such as `"0x8000"`.
    """

    @property
    def allowed(self) -> str:
        return (
            f"a number of at most 64 bits, or a list of up to {NO_VALUES_MAX}, like 0x8000, "
            "-9999.0, nan or [0x8000, 0xFFFF]"
        )

    def value_of(self, written: object) -> NoValues:
        items = written if isinstance(written, list | tuple) else [written]
        if len(items) > NO_VALUES_MAX:
            raise refusal(self.allowed)
        return tuple(self._number_of(each) for each in items)

    def _number_of(self, written: object) -> float:
        if isinstance(written, str) and _TEXT.fullmatch(written):
            return math.nan if written.lower() == "nan" else int(written, 16)
        if isinstance(written, float):
            return written
        if not isinstance(written, int) or isinstance(written, bool):
            raise refusal(self.allowed)
        if not -(1 << 63) <= written < 1 << 64:
            raise refusal(self.allowed)
        return written

    def schema(self) -> dict[str, Any]:
        one = [{"type": "number"}, {"type": "string", "pattern": f"^(?:{_TEXT.pattern})$"}]
        many = {"type": "array", "items": {"anyOf": one}, "maxItems": NO_VALUES_MAX}
        return {"anyOf": [*one, many], "description": self.allowed}


def no_values_for(numbers: NoValues, form: str) -> NoValues:
    """Return the numbers that mean "no value" in registers with the number format `form`.

    `numbers` contains all numbers that mean "no value" for the device. A float applies to float
    registers. An integer applies to registers with as many bits as the integer needs: 0xFFFF to 16
    bits, 0x80000000 to 32 bits. In signed registers, 0xFFFF is the ordinary number -1, so it does
    not apply, but 0x8000 does, as the lowest number (-32768).
    """
    bits, kind = int(form[1:]), form[0]
    lowest = 1 << (bits - 1)
    return tuple(
        each - (1 << bits) if kind == "i" and each == lowest else each
        for each in numbers
        if (
            kind == "f"
            if isinstance(each, float)
            else _bits_of(each) == bits and not (kind == "i" and each > lowest)
        )
    )


def why_no_value(raw: bytes, form: str, no_values: NoValues | None) -> str | None:
    """Return the reason why a register or field contains no value, or None if it contains one.

    The reason is "no_value" for one of the numbers in `no_values`, and "not_measured" for another
    float that is infinite or NaN, which some devices use for a missing value. `raw` contains the
    bytes in big-endian order.
    """
    if no_values and _is_among(no_values, raw, form):
        return "no_value"
    is_float = form[0] == "f"
    return "not_measured" if is_float and not math.isfinite(_float_of(raw)) else None


def _is_among(no_values: NoValues, raw: bytes, form: str) -> bool:
    """Return True for one of the numbers. Both the decoded number and its bits are compared."""
    bits = int.from_bytes(raw)
    number = _float_of(raw) if form[0] == "f" else int.from_bytes(raw, signed=form[0] == "i")
    if number in no_values or bits in no_values:
        return True
    return form == "f32" and any(_bytes_of_f32(each) == raw for each in no_values)


def _float_of(raw: bytes) -> float:
    (number,) = struct.unpack(">f" if len(raw) == struct.calcsize("f") else ">d", raw)
    assert isinstance(number, float), "both formats are of floating point numbers"
    return number


def _bytes_of_f32(number: float) -> bytes | None:
    """Return the bytes of the nearest 32-bit float, or None if the number is too large.

    A value in the configuration, such as -3.4028235e38, is a 64-bit float. It differs slightly from
    the 32-bit float that the device sends, so bytes are compared instead of values.
    """
    try:
        return struct.pack(">f", number)
    except OverflowError:
        return None


def _bits_of(number: float) -> int:
    return next(bits for bits in _BITS if -(1 << (bits - 1)) <= number < 1 << bits)
