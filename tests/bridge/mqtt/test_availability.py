"""`online` and `offline` of the bridge and of its ports, retained by an independent broker."""

import asyncio
from pathlib import Path

import pytest
from firmware_bridge.mqtt import publisher
from firmware_bridge.mqtt.availability import Availability

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Connect, Packet, Publish
from tests.bridge.board import board_frame
from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.session_broker import SessionBroker
from tests.bridge.terminal import Terminal
from tests.peers.scripted_broker import ServerSide

TOPIC = "sensors/state"
PORT = f"{TOPIC}/sensor"


async def test_a_subscriber_that_comes_at_any_time_has_the_latest_states(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = settings_of(
        terminal.link.parent / "data",
        subscriber.port,
        port_on(terminal, "json"),
        availability_topic=TOPIC,
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await subscriber.wait_until(
            lambda: latest(subscriber) == {TOPIC: b"online", PORT: b"online"}
        )
        terminal.unplug()
        await subscriber.wait_until(
            lambda: latest(subscriber) == {TOPIC: b"online", PORT: b"offline"}
        )
        assert await retained(subscriber.port) == {TOPIC: b"online", PORT: b"offline"}
    assert await retained(subscriber.port) == {TOPIC: b"offline", PORT: b"offline"}


async def test_a_device_is_born_with_its_first_frame_and_offline_when_it_is_silent(
    subscriber: Subscriber, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "AVAILABILITY_SECONDS", 0.05)
    settings = settings_of(
        terminal.link.parent / "data",
        subscriber.port,
        port_on(terminal, "board", device_silent_seconds=2.0),
        availability_topic=TOPIC,
    )
    device = f"{PORT}/board-0000002a"
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await subscriber.wait_until(lambda: latest(subscriber).get(PORT) == b"online")
        assert device not in latest(subscriber)
        await terminal.write(board_frame(1))
        await subscriber.wait_until(lambda: latest(subscriber).get(device) == b"online")
        await subscriber.wait_until(lambda: latest(subscriber).get(device) == b"offline")
        assert latest(subscriber)[PORT] == b"online"
        await terminal.write(board_frame(2))
        await subscriber.wait_until(lambda: latest(subscriber).get(device) == b"online")
        terminal.unplug()
        await subscriber.wait_until(lambda: latest(subscriber).get(PORT) == b"offline")
        await subscriber.wait_until(lambda: latest(subscriber).get(device) == b"offline")


async def test_each_connection_carries_the_will_and_begins_with_all_states(tmp_path: Path) -> None:
    broker = WatchedBroker()
    settings = settings_of(tmp_path, await broker.open_address(), availability_topic=TOPIC)
    async with running_bridge(settings):
        for count in (1, 2):
            await broker.wait_for_states(count * [b"online"])
            (session,) = broker.sessions.values()
            assert session.connection is not None
            session.connection.cut()
        await broker.wait_for_states(3 * [b"online"])
    for connect in broker.seen:
        assert connect.will is not None
        assert (connect.will.topic, connect.will.payload) == (TOPIC, b"offline")
        assert connect.will.retain
    await broker.wait_for_states([*3 * [b"online"], b"offline"])
    await broker.close()


def test_a_state_is_sent_when_it_changes_and_nothing_without_a_connection() -> None:
    ports, sent = {"a": True, "b": False}, list[bytes]()
    availability = Availability("t", lambda: ports)
    availability.update()
    availability.end()
    assert sent == []
    availability.begin(sent.append)
    availability.update()
    ports["b"] = True
    availability.update()
    availability.end()
    availability.update()
    packets = Decoder(1 << 16, 4).feed(b"".join(sent))
    assert [(each.topic, each.payload) for each in packets if isinstance(each, Publish)] == [
        ("t", b"online"),
        ("t/a", b"online"),
        ("t/b", b"offline"),
        ("t/b", b"online"),
        ("t", b"offline"),
        ("t/a", b"offline"),
        ("t/b", b"offline"),
    ]
    assert {(each.qos, each.retain) for each in packets if isinstance(each, Publish)} == {(0, True)}


class WatchedBroker(SessionBroker):
    """A broker that records the states of the bridge in order of arrival, and the CONNECTs of all
    connections."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[bytes] = []
        self.seen: list[Connect] = []

    async def wait_for_states(self, states: list[bytes]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(lambda: self.states == states)

    def receive(self, packet: Packet, connection: ServerSide) -> None:
        if isinstance(packet, Publish) and packet.qos == 0:
            self.states.append(bytes(packet.payload))
            return
        if isinstance(packet, Connect):
            self.seen.append(packet)
        super().receive(packet, connection)


def latest(subscriber: Subscriber) -> dict[str, bytes]:
    return dict(subscriber.messages)


async def retained(port: int) -> dict[str, bytes]:
    late = Subscriber(port, "late-subscriber")
    await late.arrival_of(2)
    late.close()
    return latest(late)


def sent_by(availability: Availability) -> list[tuple[str, bytes]]:
    """Begin a connection and return the topics and payloads that are published over it."""
    sent: list[bytes] = []
    availability.begin(sent.append)
    packets = Decoder(1 << 16, 4).feed(b"".join(sent))
    return [(each.topic, each.payload) for each in packets if isinstance(each, Publish)]


def test_topics_of_a_former_connection_that_are_not_used_any_more_are_emptied_at_the_next() -> None:
    reports = {"alarms/disk_low": b"{}", "alarms/disk_full": b""}
    availability = Availability(None, dict, lambda: reports)
    assert sent_by(availability) == [*reports.items()]
    availability.end()
    reports = {"plant/disk_low": b"{}", "plant/disk_full": b""}
    assert sent_by(availability) == [
        *reports.items(),
        ("alarms/disk_low", b""),
        ("alarms/disk_full", b""),
    ]
    availability.end()
    assert sent_by(availability) == [*reports.items()]


def test_the_states_of_a_port_that_was_removed_are_removed_once() -> None:
    states = {"a": True, "b": False}
    sent: list[bytes] = []
    availability = Availability(TOPIC, lambda: states)
    availability.begin(sent.append)
    sent.clear()
    del states["a"]
    availability.update()
    availability.update()
    (packet,) = Decoder(1 << 16, 4).feed(b"".join(sent))
    assert isinstance(packet, Publish)
    assert (packet.topic, packet.payload, packet.retain) == (f"{TOPIC}/a", b"", True)
    states["a"] = True
    sent.clear()
    availability.update()
    (again,) = Decoder(1 << 16, 4).feed(b"".join(sent))
    assert isinstance(again, Publish)
    assert again.payload == b"online"
