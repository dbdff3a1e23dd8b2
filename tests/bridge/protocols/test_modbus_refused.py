"""The parts that remain of refused blocks, and of blocks whose answers are short."""

import pytest
from firmware_bridge.protocols.modbus_refused import (
    REFUSED_AGAIN_SECONDS_MAX,
    REFUSED_AGAIN_SECONDS_MIN,
    rest_seconds,
)

from tests.bridge.protocols.modbus_slave import Slave, names, polled


def test_a_rest_doubles_up_to_its_limit() -> None:
    rests = [0.0]
    while rests[-1] < REFUSED_AGAIN_SECONDS_MAX:
        rests.append(rest_seconds(rests[-1]))
    assert rests[1:] == [REFUSED_AGAIN_SECONDS_MIN * 2**n for n in range(6)] + [3600.0]
    assert rest_seconds(rests[-1]) == REFUSED_AGAIN_SECONDS_MAX


@pytest.mark.parametrize("most", [2, 80])
def test_a_device_that_answers_with_fewer_registers_is_asked_for_as_many_from_then_on(
    most: int,
) -> None:
    bench = polled(Slave(most=most, cuts_short=True), range(0, 250, 2), "u32")
    assert bench.poll() == names(*range(0, 250, 2))
    assert "registers_per_request" in bench.learnt[0]
    bench.poll()
    assert max(count for _, count in bench.slave.requests) <= most


def test_a_register_before_which_a_device_cuts_its_answers_is_named_and_the_others_are_read() -> (
    None
):
    bench = polled(Slave({5}, cuts_short=True), [*range(10), 100])
    assert bench.poll() == names(*range(5), *range(6, 10), 100)
    (missing,) = bench.plan.unread()
    assert (missing.quantity, missing.reason) == ("r5", "short_answer")
    assert "d refuses holding 5 (r5): it answers with fewer registers" in bench.learnt[0]
