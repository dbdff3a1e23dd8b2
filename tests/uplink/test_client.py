"""gmqtt as the uplink's client: what reaches its storage, and what must never reach gmqtt.

These tests call gmqtt's own connection, handler and storage, so that a new release which changes
anything that `UplinkClient` relies on fails here.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Packet,
    Properties,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from gateway.uplink.reception import Arrival
from gateway.uplink.routes import Side
from gateway.uplink.settlement import Arrived
from tests.bridge.silent_broker import SilentBroker
from tests.peers.scripted_broker import ServerSide
from tests.uplink.bench import message
from tests.uplink.linked import Linked, coming, linked


@pytest.fixture
async def broker() -> AsyncIterator[SilentBroker]:
    async with SilentBroker() as broker:
        yield broker


def forward(running: Linked, *payloads: str) -> None:
    for number, payload in enumerate(payloads, 1):
        running.committer.add_event(Arrived(Side.LOCAL, Arrival(message(payload), number)))


async def test_gmqtt_replays_from_the_store_with_dup_and_pubrel_first(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        forward(running, "a", "b")
        first, second = await running.packet(), await running.packet()
        assert isinstance(first, Publish)
        assert isinstance(second, Publish)
        broker.send(Pubrec(second.packet_id))
        assert await running.packet() == Pubrel(second.packet_id)
        broker.session_present = True
        broker.cut()
        assert await running.packet() == Pubrel(second.packet_id)
        again = await running.packet()
        assert isinstance(again, Publish)
        assert (again.packet_id, again.payload, again.dup) == (first.packet_id, b"a", True)
        broker.send(Pubcomp(second.packet_id))
        broker.send(Pubrec(again.packet_id))
        assert await running.packet() == Pubrel(again.packet_id)


async def test_the_same_after_a_crash(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        forward(running, "a")
        first = await running.packet()
    while not broker.packets.empty():
        broker.packets.get_nowait()
    broker.session_present = True
    async with linked(tmp_path, broker, monkeypatch) as running:
        again = await running.packet()
        assert isinstance(first, Publish)
        assert isinstance(again, Publish)
        assert (again.packet_id, again.payload, again.dup) == (first.packet_id, b"a", True)


class NarrowBroker(SilentBroker):
    """A broker that accepts one message at a time (Receive Maximum 1)."""

    def receive(self, packet: Packet, connection: ServerSide) -> None:
        if isinstance(packet, Connect):
            properties = Properties()
            properties.receive_maximum = 1
            connection.send(Connack(self.session_present, 0, properties))
            self.connects.put_nowait(packet)
        else:
            super().receive(packet, connection)


async def test_no_more_is_in_flight_than_the_broker_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with NarrowBroker() as broker, linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        forward(running, "a", "b")
        first = await running.packet()
        assert isinstance(first, Publish)
        broker.send(Pubrec(first.packet_id))
        assert await running.packet() == Pubrel(first.packet_id)
        assert broker.packets.empty()
        broker.send(Pubcomp(first.packet_id))
        second = await running.packet()
        assert isinstance(second, Publish)
        assert second.payload == b"b"


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (b"\x36\x02\x00\x01", "what the broker sent is wrong"),
        (b"\x30\x90\x4f" + bytes(10_128), "what the broker sent is wrong"),
        (b"\x30\xff\xff\xff\x7f" + bytes(11_000), "what the broker sent is wrong"),
        (b"\xe0\x02\x8b\x00", "reason code 0x8B"),
    ],
    ids=["malformed", "too large", "much too large", "disconnected"],
)
async def test_what_is_wrong_ends_the_connection_with_a_reason(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch, wrong: bytes, fault: str
) -> None:
    async with linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        broker.session_present = True
        broker.return_code = 0x88
        broker.connections[-1]._writer.write(wrong)
        broker.connections[-1].close()
        await running.is_connected(connected=False)
        assert fault in str(running.link.status()["fault"])
        broker.return_code = 0
        await running.is_connected()


async def test_a_message_is_not_acknowledged_by_gmqtt(
    tmp_path: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        running.committer.disk_full = True
        monkeypatch.setattr(running.committer._store.space, "has_room", lambda: False)
        broker.send(coming(5))
        broker.send(Pubrel(99))
        assert await running.packet() == Pubcomp(99)
        assert broker.packets.empty(), "PUBREC waits for the disk"


class ForgetfulBroker(SilentBroker):
    """A broker that keeps sessions for only ten seconds."""

    def receive(self, packet: Packet, connection: ServerSide) -> None:
        if isinstance(packet, Connect):
            properties = Properties()
            properties.session_expiry_interval_seconds = 10
            connection.send(Connack(self.session_present, 0, properties))
            self.connects.put_nowait(packet)
        else:
            super().receive(packet, connection)


async def test_a_broker_that_keeps_sessions_for_less_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with ForgetfulBroker() as broker, linked(tmp_path, broker, monkeypatch) as running:
        await running.until_connected()
        assert "keeps our session for 10 s" in caplog.text
