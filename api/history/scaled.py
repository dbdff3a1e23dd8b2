"""Encodes and decodes values in the history's files, as scaled integers or as float64.

Sensors send values with few decimals, such as 21.5. As float64, these values have bytes that look
random and compress poorly. As integers in units of the last decimal, they have mostly zero bytes.

Integers are stored as `2 * n`, or as `-2 * n - 1` if negative, so that small values have few bytes.
"""

import struct
from array import array
from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import Final

COLUMNS: Final = 4
"""Lowest, mean, highest and last value of each step."""
_MEAN: Final = 1
DECIMALS_MAX: Final = 6
"""Largest number of decimals of values that are stored as integers."""
MEAN_DECIMALS: Final = 2
"""Decimals of a mean in addition to those of the values: more than a chart can show."""
_INTEGER_MAX: Final = 2**53
"""Larger integers are not exact as float64."""
_MISSING: Final = 2**64 - 1


def packed(columns: Sequence["array[float]"]) -> tuple[int | None, bytes]:
    """Return the number of decimals in a series' columns, and the columns as bytes.

    The columns contain the lowest, mean, highest and last values. A missing value is NaN. The
    means may be rounded, but all other values are stored exactly. If these have more than
    DECIMALS_MAX decimals or too many digits, all values are stored as float64. The number of
    decimals is then None, and means are rounded to the 24 bits of a float32.
    """
    decimals = _decimals_of(value for index in (0, 2, 3) for value in columns[index])
    if decimals is None:
        means = array("d", map(_shortened, columns[_MEAN]))
        columns = [columns[0], means, *columns[2:]]
        return None, b"".join(column.tobytes() for column in columns)
    integers = array("Q")
    for scale, column in zip(_scales_of(decimals), columns, strict=True):
        integers.extend([_integer_of(value, scale) for value in column])
    return decimals, integers.tobytes()


def columns_in(raw: bytes, steps: int, decimals: int | None) -> list["array[float]"]:
    """Decode the columns of a series. A missing value is NaN.

    `steps` is the number of values in a column. `decimals` is the first result of `packed`.
    """
    if decimals is None:
        values = array("d", raw)
        return [values[number * steps : (number + 1) * steps] for number in range(COLUMNS)]
    integers = array("Q", raw)
    return [
        array("d", [_value_of(n, scale) for n in integers[index * steps : (index + 1) * steps]])
        for index, scale in enumerate(_scales_of(decimals))
    ]


def _scales_of(decimals: int) -> list[int]:
    scales = [10**decimals] * COLUMNS
    scales[_MEAN] = 10 ** (decimals + MEAN_DECIMALS)
    return scales


def _decimals_of(values: Iterable[float]) -> int | None:
    """Return the smallest number of decimals that represents all values exactly.

    The result is None if too many decimals or digits are needed.
    """
    decimals, scale, largest = 0, 1, 0.0
    for value in values:
        if isnan(value):
            continue
        largest = max(largest, abs(value))
        if largest * scale * 10**MEAN_DECIMALS >= _INTEGER_MAX:
            return None
        while round(value * scale) / scale != value:
            decimals += 1
            if decimals > DECIMALS_MAX:
                return None
            scale = 10**decimals
    return decimals if largest * scale * 10**MEAN_DECIMALS < _INTEGER_MAX else None


def _integer_of(value: float, scale: int) -> int:
    if isnan(value):
        return _MISSING
    number = round(value * scale)
    return 2 * number if number >= 0 else -2 * number - 1


def _value_of(number: int, scale: int) -> float:
    if number == _MISSING:
        return nan
    return (number // 2 if number % 2 == 0 else -(number // 2) - 1) / scale


def _shortened(mean: float) -> float:
    """Round a mean to the 24 bits of a float32.

    A chart does not need a higher precision.
    """
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", mean))
    except OverflowError:
        return mean
    return float(rounded)
