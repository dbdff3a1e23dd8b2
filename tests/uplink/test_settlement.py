"""The packets from both brokers since the last commit, and their combined effect."""

from pathlib import Path

import pytest

from gateway.broker.wire.acknowledgement_encoder import pubcomp, pubrec, pubrel
from gateway.broker.wire.packets import Pubcomp, Pubrec, Pubrel
from gateway.uplink.lane import Lane
from gateway.uplink.reception import Arrival, Reception
from gateway.uplink.recovery import open_uplink_store
from gateway.uplink.routes import Side
from gateway.uplink.settlement import (
    UNCLEAR_REFUSALS_MAX,
    Answered,
    Arrived,
    Disconnected,
    Settlement,
    Subscribed,
)
from tests.uplink.bench import message

LOCAL, REMOTE = Side.LOCAL, Side.REMOTE


@pytest.fixture
def settlement(tmp_path: Path) -> Settlement:
    store = open_uplink_store(tmp_path / "uplink.db")
    lanes = {side: Lane(store, side, bytes_max=10_000) for side in Side}
    return Settlement(lanes, {LOCAL: Reception({7}), REMOTE: Reception(set())})


def test_answers_to_what_is_not_known_are_given_and_need_no_commit(settlement: Settlement) -> None:
    settlement.apply(Answered(LOCAL, Pubrel(99)))
    settlement.apply(Answered(REMOTE, Pubrec(98)))
    settlement.apply(Answered(REMOTE, Pubcomp(97)))
    settlement.apply(Arrived(LOCAL, Arrival(message(), 7)))
    assert settlement.changes[LOCAL].answers == [pubcomp(99), pubrec(7)]
    assert settlement.changes[REMOTE].answers == [pubrel(98)]
    assert not settlement.needs_commit


def test_a_pubrel_of_a_held_message_needs_a_commit(settlement: Settlement) -> None:
    settlement.apply(Answered(LOCAL, Pubrel(7)))
    assert settlement.changes[LOCAL].freed == {7}
    assert settlement.needs_commit


def test_a_connection_that_ended_is_not_answered_any_more(settlement: Settlement) -> None:
    settlement.apply(Answered(LOCAL, Pubrel(7)))
    settlement.apply(Arrived(LOCAL, Arrival(message(), 8)))
    settlement.apply(Disconnected(LOCAL))
    assert settlement.changes[LOCAL].answers == []
    assert settlement.changes[LOCAL].freed == {7}, "it came all the same"
    settlement.apply(Arrived(LOCAL, Arrival(message(), 8)))
    assert settlement.changes[LOCAL].answers == [], "what was not stored is new"


def test_subscriptions_are_written_down(settlement: Settlement) -> None:
    settlement.apply(Subscribed(REMOTE, "{}"))
    assert settlement.changes[REMOTE].subscriptions == "{}"
    assert settlement.needs_commit


def test_what_is_refused_for_an_unclear_reason_is_tried_so_often(tmp_path: Path) -> None:
    store = open_uplink_store(tmp_path / "uplink.db")
    lanes = {side: Lane(store, side, bytes_max=10_000) for side in Side}
    lane = lanes[REMOTE]
    lane.exchanges.window = 1
    attempts = 0
    while not lane.to_remove:
        settlement = Settlement(lanes, {side: Reception(set()) for side in Side})
        exchange = lane.exchanges.start(1, message())
        settlement.apply(Answered(REMOTE, Pubrec(exchange.packet_id, 0x83)))
        attempts += 1
        assert bool(settlement.paused) is (attempts < UNCLEAR_REFUSALS_MAX)
    assert (attempts, lane.counters["refused"]) == (UNCLEAR_REFUSALS_MAX, 1)
