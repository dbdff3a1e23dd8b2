"""The parts that remain of refused blocks, and of blocks whose answers are short."""

import pytest
from firmware_bridge.protocols.modbus_answer import Block
from firmware_bridge.protocols.modbus_refused import (
    REFUSED_AGAIN_SECONDS_MAX,
    REFUSED_AGAIN_SECONDS_MIN,
    Search,
    Searches,
    rest_seconds,
)
from firmware_bridge.protocols.modbus_register import Register

from tests.bridge.protocols.modbus_slave import Slave, names, polled


def test_a_rest_doubles_up_to_its_limit() -> None:
    rests = [0.0]
    while rests[-1] < REFUSED_AGAIN_SECONDS_MAX:
        rests.append(rest_seconds(rests[-1]))
    assert rests[1:] == [REFUSED_AGAIN_SECONDS_MIN * 2**n for n in range(6)] + [3600.0]
    assert rest_seconds(rests[-1]) == REFUSED_AGAIN_SECONDS_MAX


def test_a_search_is_complete_when_each_of_its_parts_has_an_outcome() -> None:
    whole = Block("d", 1, [Register(name=f"r{each}", at=each) for each in range(3)])
    searches = Searches()
    searches.begin(search := Search(whole))
    left, right = searches.split(whole)
    assert whole not in searches
    assert searches.record(left, None) is None
    first, second = searches.split(right)
    assert searches.search_of(first) is search
    assert searches.record(first, "exception_2") is None
    assert searches.record(second, None) is search
    assert (search.answered, search.refused) == ([left, second], {first: "exception_2"})
    assert searches.record(second, None) is None, "it belongs to no search now"


def test_an_abandoned_search_returns_the_parts_without_an_outcome_and_others_continue() -> None:
    whole, other = (
        Block("d", 1, [Register(name=f"r{each}", at=each) for each in at])
        for at in (range(4), range(10, 12))
    )
    searches = Searches()
    for each in (whole, other):
        searches.begin(Search(each))
    left, right = searches.split(whole)
    assert searches.abandon(left) == [left, right]
    assert searches.abandon(left) == []
    assert other in searches
    assert right not in searches


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
