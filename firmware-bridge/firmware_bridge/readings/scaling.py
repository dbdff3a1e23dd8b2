"""Converts numbers from devices to the configured units, without rounding errors.

Decimal arithmetic is used, because a configured factor such as 0.1 means exactly 0.1. For example,
215 times 0.1 is exactly 21.5.
"""

import math
from decimal import Decimal

from firmware_bridge.readings.measurement import INTEGER_MAX


class OutOfRange(ValueError):
    """Raised if a result is infinite or is an integer of more than 64 bits.

    Such a result is not a valid reading.
    """


def scaled(value: float, *, scale: float = 1, offset: float = 0, power_of_ten: int = 0) -> float:
    """Return `value * scale * 10 ** power_of_ten + offset`.

    The result is an integer if `value`, `scale` and `offset` are integers and `power_of_ten` is not
    negative.

    Raises:
        OutOfRange: if the result is infinite, or is an integer of more than 64 bits.
    """
    if scale == 1 and offset == 0 and power_of_ten == 0:
        return _checked(value)
    if not math.isfinite(value):
        raise OutOfRange("value")
    exact = _decimal(value) * _decimal(scale) * Decimal(10) ** power_of_ten + _decimal(offset)
    whole = all(isinstance(each, int) for each in (value, scale, offset)) and power_of_ten >= 0
    return _checked(int(exact) if whole else float(exact))


def _checked(value: float) -> float:
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise OutOfRange("value")
    elif not math.isfinite(value):
        raise OutOfRange("value")
    return value


def _decimal(number: float) -> Decimal:
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))
