"""Scaled numbers have the decimal digits that a person would calculate."""

import contextlib

import pytest
from firmware_bridge.readings.scaling import OutOfRange, scaled
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("value", "scale", "offset", "power", "expected"),
    [
        (215, 0.1, 0, 0, 21.5),
        (3, 0.1, 0, 0, 0.3),
        (21.5, 1.8, 32, 0, 70.7),
        (7, 2, -4, 0, 10),
        (1234, 1, 0, -3, 1.234),
        (12, 1, 0, 2, 1200),
    ],
)
def test_what_comes_out_is_the_decimal_number(
    value: float, scale: float, offset: float, power: int, expected: float
) -> None:
    found = scaled(value, scale=scale, offset=offset, power_of_ten=power)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(("value", "scale"), [(2**62, 4), (1e300, 1e18), (float("inf"), 2)])
def test_what_is_no_reading_is_refused(value: float, scale: float) -> None:
    with pytest.raises(OutOfRange):
        scaled(value * 1.0 if scale == 1e18 else value, scale=scale)


@given(st.floats(allow_nan=False) | st.integers(), st.floats(-1e18, 1e18), st.integers(-18, 18))
def test_nothing_else_is_raised(value: float, scale: float, power: int) -> None:
    with contextlib.suppress(OutOfRange):
        scaled(value, scale=scale, power_of_ten=power)
