"""The parts that remain of refused blocks."""

from firmware_bridge.protocols.modbus_refused import (
    REFUSED_AGAIN_SECONDS_MAX,
    REFUSED_AGAIN_SECONDS_MIN,
    rest_seconds,
)


def test_a_rest_doubles_up_to_its_limit() -> None:
    rests = [0.0]
    while rests[-1] < REFUSED_AGAIN_SECONDS_MAX:
        rests.append(rest_seconds(rests[-1]))
    assert rests[1:] == [REFUSED_AGAIN_SECONDS_MIN * 2**n for n in range(6)] + [3600.0]
    assert rest_seconds(rests[-1]) == REFUSED_AGAIN_SECONDS_MAX
