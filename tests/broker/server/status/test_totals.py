"""The totals over all sessions: correct, computed in slices, and shared by concurrent requests."""

import asyncio

import pytest

from gateway.broker.core.sessions.message import Delivery, Held, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State
from gateway.broker.server.status import totals
from gateway.broker.server.status.totals import SLICE_STEPS, SessionTotals, Totals, Walk
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import connect, publish, subscribe

MESSAGE_BYTES = len(b"\0\1t1234")


def message(number: int) -> Message:
    return Message(number, "t", b"\0\1t", b"1234", 1, False)


def state_of(sessions: int) -> State:
    state = State([])
    for number in range(1, sessions + 1):
        session = Session(number, f"c{number}", True)
        state.session_opened(session)
        state.message_queued(Delivery(session, message(number), number, 1, 0), MESSAGE_BYTES)
    return state


async def test_a_status_that_takes_many_ticks_counts_every_session_once(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "SLICE_STEPS", 2)
    broker = await start({})
    for number in range(6):
        client = await broker.open()
        client.send(connect(f"c{number}", clean=number % 3 == 0))
        await client.packet()
        client.send(subscribe(1, ("t", 1)))
        await client.packet()
        if number % 2:
            client.abort()
    await broker.eventually(lambda: broker.status()["connections"]["open"] == 3)
    publisher = await broker.open()
    await publisher.log_in("publisher")
    publisher.send(publish("t", b"x", qos=1, packet_id=1))
    assert (await publisher.packet())[0] == 0x40
    status = await broker.running.status.current()
    # Session 3 was clean and has ended; 1 and 5 are away, each with the message in its queue.
    assert status["sessions"] == {"connected": 4, "persistent": 4, "total": 6}
    assert status["queued"]["messages"] == 2
    assert status["inflight"] == 3


def test_sessions_are_counted_in_slices() -> None:
    walk = Walk(state_of(2 * SLICE_STEPS + 1), 0.0)
    assert [walk.advance(), walk.advance(), walk.advance()] == [False, False, True]
    found = walk.totals
    assert found.sessions == found.persistent == found.queued_messages == 2 * SLICE_STEPS + 1
    assert found.queued_bytes == MESSAGE_BYTES * (2 * SLICE_STEPS + 1)
    assert found.connected == 0


def test_a_slice_ends_with_its_deliveries_in_flight_too() -> None:
    state = state_of(2)
    for session in state.sessions.values():
        for packet_id in range(1, SLICE_STEPS + 1):
            delivery = Delivery(session, message(packet_id), packet_id, 1, packet_id)
            state.delivery_started(delivery, packet_id)
    walk = Walk(state, 0.0)
    assert [walk.advance(), walk.advance()] == [False, True]
    assert walk.totals.inflight == 2 * SLICE_STEPS
    assert walk.totals.inflight_bytes == 2 * SLICE_STEPS * MESSAGE_BYTES


def test_of_a_message_in_flight_that_is_on_disk_only_no_bytes_are_counted() -> None:
    state = state_of(1)
    (session,) = state.sessions.values()
    state.delivery_started(Delivery(session, None, 7, 1, 1), 1)
    walk = Walk(state, 0.0)
    assert walk.advance()
    assert (walk.totals.inflight, walk.totals.inflight_bytes) == (1, 0)


def test_messages_that_await_pubrel_are_counted_with_their_bytes() -> None:
    state = state_of(1)
    (session,) = state.sessions.values()
    state.message_held(Held(session, 5, message(9), 0.0))
    walk = Walk(state, 0.0)
    assert walk.advance()
    assert walk.totals.awaiting_release == 1
    assert walk.totals.awaiting_release_bytes == MESSAGE_BYTES


async def test_those_who_take_totals_of_the_last_second_share_a_walk() -> None:
    session_totals = SessionTotals(state_of(SLICE_STEPS + 1))
    received: list[Totals] = []
    session_totals.ask(received.append, age_seconds_max=1.0)
    session_totals.ask(received.append, age_seconds_max=1.0)
    assert not received, "the walk takes two slices"
    await asyncio.sleep(0)
    session_totals.ask(received.append, age_seconds_max=1.0)
    assert len(received) == 3
    assert len(set(received)) == 1


async def test_one_who_wants_totals_of_now_gets_those_of_a_walk_that_begins_later() -> None:
    state = state_of(SLICE_STEPS + 1)
    session_totals = SessionTotals(state)
    earlier: list[Totals] = []
    session_totals.ask(earlier.append, age_seconds_max=1.0)
    state.session_opened(Session(9_999, "came after the walk began", True))
    now = await session_totals.current()
    assert earlier[0].sessions == SLICE_STEPS + 1
    assert now.sessions == SLICE_STEPS + 2


async def test_all_who_want_totals_of_now_while_a_walk_is_under_way_share_the_next() -> None:
    session_totals = SessionTotals(state_of(3 * SLICE_STEPS))
    session_totals.ask(lambda _: None, age_seconds_max=1.0)
    found = await asyncio.gather(*[session_totals.current() for _ in range(20)])
    assert len(set(found)) == 1


async def test_one_who_has_given_up_asking_does_not_disturb_the_walk() -> None:
    session_totals = SessionTotals(state_of(SLICE_STEPS + 1))
    gone = asyncio.create_task(session_totals.current())
    await asyncio.sleep(0)
    gone.cancel()
    assert (await session_totals.current()).sessions == SLICE_STEPS + 1
