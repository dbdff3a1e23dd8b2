"""The time at which a value was measured."""

import pytest
from firmware_bridge.readings.measurement import Measurement


@pytest.mark.parametrize(
    ("seconds", "absolute"),
    [(None, None), (-3600.0, None), (2**28 - 1, None), (2**28, 2.0**28), (1.7e9, 1.7e9)],
)
def test_a_small_time_counts_from_the_arrival(
    seconds: float | None, absolute: float | None
) -> None:
    assert Measurement("a", 1, None, seconds).absolute_time_seconds == absolute
