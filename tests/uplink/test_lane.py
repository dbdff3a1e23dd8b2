"""The state of one direction in memory."""

from pathlib import Path

import pytest

from gateway.process.mqtt_client.exchanges import Exchange
from gateway.uplink.lane import Lane, Outlet
from gateway.uplink.message import Message
from gateway.uplink.recovery import open_uplink_store
from gateway.uplink.routes import Side
from gateway.uplink.store import UplinkStore
from tests.uplink.bench import message


@pytest.fixture
def store(tmp_path: Path) -> UplinkStore:
    store = open_uplink_store(tmp_path / "uplink.db")
    store.begin()
    store.messages[Side.REMOTE].insert(
        [message("a"), Message("t", b"late", 1, False, b"", 5.0), message("x" * 500), message("b")],
    )
    store.commit()
    return store


def outlet(**more: int | bool) -> Outlet:
    sent: list[bytes] = []
    return Outlet(sent.append, lambda: True, 5, 10, **more)  # type: ignore[arg-type]


def test_what_cannot_be_sent_is_given_up_and_counted(store: UplinkStore) -> None:
    lane = Lane(store, Side.REMOTE, bytes_max=10_000)
    before = lane.bytes_held
    lane.outlet = outlet(packet_bytes_max=100)
    lane.exchanges.window = 10
    store.begin()
    lane.start_sending(10.0)
    store.commit()
    lane.committed()
    assert [each.message.payload for each in lane.started] == [b"a", b"b"]
    assert (lane.counters["expired"], lane.counters["too_large"]) == (1, 1)
    assert (lane.waiting, store.messages[Side.REMOTE].totals()[0]) == (0, 2)
    assert lane.bytes_held < before
    assert lane.bytes_held == store.messages[Side.REMOTE].totals()[1]


def test_a_start_that_came_to_nothing_leaves_no_trace(store: UplinkStore) -> None:
    lane = Lane(store, Side.REMOTE, bytes_max=10_000)
    lane.outlet = outlet(packet_bytes_max=100)
    lane.exchanges.window = 10
    before = lane.status()
    store.begin()
    lane.store([message("c")])
    lane.start_sending(10.0)
    assert len(lane.started) == 3
    store.roll_back()
    lane.undo_start()
    assert lane.status() == before
    assert (lane.started, lane.given_up) == ([], [])


def test_nothing_starts_without_a_connection_or_in_a_pause(store: UplinkStore) -> None:
    lane = Lane(store, Side.REMOTE, bytes_max=10_000)
    lane.exchanges.window = 10
    lane.start_sending(0.0)
    assert (lane.started, lane.can_start) == ([], False)
    lane.outlet, lane.pauses = outlet(), 1
    lane.start_sending(0.0)
    assert (lane.started, lane.can_start) == ([], False)
    lane.pauses = 0
    assert lane.can_start


def test_a_broker_with_less_qos_and_no_retained_messages_gets_what_it_takes() -> None:
    adapted = outlet(maximum_qos=1, may_retain=False).adapted(Message("t", b"", 2, True, b"", None))
    assert (adapted.qos, adapted.retain) == (1, False)


def test_qos_0_is_sent_now_or_never(store: UplinkStore) -> None:
    lane = Lane(store, Side.REMOTE, bytes_max=10_000)
    sent: list[bytes] = []
    lane.forward_qos0(message("a", 0), 0.0)
    lane.outlet = Outlet(sent.append, lambda: True, 5, 10, 20)
    lane.forward_qos0(message("a", 0), 0.0)
    lane.forward_qos0(message("a" * 50, 0), 0.0)
    lane.outlet = Outlet(sent.append, lambda: False, 5, 10)
    lane.forward_qos0(message("a", 0), 0.0)
    assert len(sent) == 1
    counted = [lane.counters[each] for each in ("forwarded_qos0", "dropped_qos0", "too_large")]
    assert counted == [1, 2, 1]


def test_a_publish_sent_again_carries_dup_and_a_released_one_becomes_pubrel() -> None:
    outlet = Outlet(lambda _: None, lambda: True, 5, 10)
    exchange = Exchange(1, 7, message("x"))
    assert not outlet.packet_of(exchange, 0.0, again=False)[0] & 0x08
    assert outlet.packet_of(exchange, 0.0, again=True)[0] & 0x08
    exchange.released = True
    assert outlet.packet_of(exchange, 0.0, again=True)[:1] == b"\x62"
