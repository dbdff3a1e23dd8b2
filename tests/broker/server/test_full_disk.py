"""A broker on a disk that other programs fill: a small tmpfs, which needs root."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.broker.core.records.events import decode
from gateway.broker.store.journal_reader import JournalReader
from tests.broker.server.broker import Broker, log_in, running
from tests.peers.mqtt_bytes import Kind, acknowledgement, publish, subscribe
from tests.peers.websocket_client import WebSocketClient
from tests.small_disk import SmallDisk, small_disk

DISK_BYTES = 8 << 20
SEGMENT = "gw-1.{boot}.{number:08d}.{first:012d}-{last:012d}.{hash}.jsonl.zst"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "d", DISK_BYTES) as disk:
        yield disk


@asynccontextmanager
async def broker_on(disk: SmallDisk) -> AsyncIterator[Broker]:
    async with asynccontextmanager(running)(disk.folder / "data", [{}], {}) as broker:
        yield broker


async def until_full(broker: Broker, *, full: bool) -> None:
    await broker.eventually(lambda: broker.status()["disk"]["full"] is full)


async def with_queue(broker: Broker, count: int) -> None:
    """Leave a subscriber away with `count` queued messages."""
    subscriber = await log_in(broker, "s")
    subscriber.send(subscribe(1, ("t", 1)))
    await subscriber.packet()
    subscriber.abort()
    publisher = await log_in(broker, "p", clean=True)
    for number in range(count):
        publisher.send(publish("t", b"%d" % number, qos=1, packet_id=number + 1))
        await publisher.packet()
    publisher.abort()


async def test_at_no_bytes_free_what_waits_is_delivered_and_new_messages_wait_for_room(
    disk: SmallDisk,
) -> None:
    async with broker_on(disk) as broker:
        await with_queue(broker, 300)
        await broker.eventually(lambda: broker.status()["disk"]["reserve"])
        reader = await log_in(broker, "reader", clean=True)
        disk.fill()
        await until_full(broker, full=True)
        status = broker.status()
        assert status["disk"]["free_bytes"] == 0
        assert any("The disk is full" in warning["sentence"] for warning in status["warnings"])
        reader.send(subscribe(1, ("$SYS/broker/disk/full", 0)))
        await reader.packet()
        assert (await reader.packet()).endswith(b"1")
        publisher = await log_in(broker, "p", clean=True)
        publisher.send(publish("t", b"300", qos=1, packet_id=1) + b"\xc0\x00")
        assert await publisher.packet() == b"\xd0\x00", "it is heard, and waits"
        subscriber = await log_in(broker, "s")
        for number in range(300):
            packet = await subscriber.packet()
            assert packet.endswith(b"t" + packet[5:7] + b"%d" % number), packet
            subscriber.send(acknowledgement(Kind.PUBACK, int.from_bytes(packet[5:7], "big")))
        assert disk.free_bytes == 0
        disk.empty()
        assert await publisher.packet() == b"\x40\x02\x00\x01"
        assert (await subscriber.packet()).endswith(b"300")
        await until_full(broker, full=False)
        await broker.eventually(lambda: broker.status()["disk"]["reserve"])
    # Messages that were acknowledged on the full disk are still queued after a restart.
    async with broker_on(disk) as broker:
        session = broker.running.event_loop.broker.state.sessions["s"]
        assert session.queued_count == 0


async def test_a_disk_that_fills_right_after_the_first_start_stops_no_delivery(
    disk: SmallDisk,
) -> None:
    async with broker_on(disk) as broker:
        assert (disk.folder / "data" / "journal" / "reserve").exists(), "before any client"
        await with_queue(broker, 300)
        disk.fill()
        await until_full(broker, full=True)
        subscriber = await log_in(broker, "s")
        for number in range(300):
            packet = await subscriber.packet()
            assert packet.endswith(b"t" + packet[5:7] + b"%d" % number), packet
            subscriber.send(acknowledgement(Kind.PUBACK, int.from_bytes(packet[5:7], "big")))
        assert disk.free_bytes == 0


async def test_without_room_for_the_reserve_the_log_names_what_stops(
    disk: SmallDisk, caplog: pytest.LogCaptureFixture
) -> None:
    disk.fill(leave_bytes=200_000)
    async with broker_on(disk) as broker:
        disk.fill()
        await until_full(broker, full=True)
        assert not broker.status()["disk"]["reserve"]
        assert "deliveries stop when the journal has no room" in caplog.text
        assert "stored messages are delivered" not in caplog.text


async def test_once_the_reserve_is_used_up_the_log_reports_waiting_deliveries(
    disk: SmallDisk, caplog: pytest.LogCaptureFixture
) -> None:
    count = 2_500  # too many deliveries for the space that the journal's file has left

    async def take_all(subscriber: WebSocketClient) -> None:
        for _ in range(count):
            packet = await subscriber.packet()
            subscriber.send(acknowledgement(Kind.PUBACK, int.from_bytes(packet[5:7], "big")))

    caplog.set_level("INFO")
    async with broker_on(disk) as broker:
        await with_queue(broker, count)
        (disk.folder / "data" / "journal" / "reserve").unlink()
        disk.fill()
        await until_full(broker, full=True)
        taking = asyncio.create_task(take_all(await log_in(broker, "s")))
        await broker.eventually(lambda: "deliveries and acknowledgements wait" in caplog.text)
        disk.empty()
        await taking
        await broker.eventually(lambda: "deliveries continue" in caplog.text)


async def test_a_broker_starts_with_nothing_free_and_delivers_what_waits(disk: SmallDisk) -> None:
    async with broker_on(disk) as broker:
        await with_queue(broker, 50)
        await broker.eventually(lambda: broker.status()["disk"]["reserve"])
    disk.fill()
    async with broker_on(disk) as broker:
        await until_full(broker, full=True)
        subscriber = await log_in(broker, "s")
        for number in range(50):
            packet = await subscriber.packet()
            assert packet.endswith(b"t" + packet[5:7] + b"%d" % number), packet
            subscriber.send(acknowledgement(Kind.PUBACK, int.from_bytes(packet[5:7], "big")))
        disk.empty()
        await until_full(broker, full=False)
    async with broker_on(disk) as broker:
        assert broker.running.event_loop.broker.state.sessions["s"].queued_count == 0


def put_segments(folder: Path, numbers: range, size_bytes: int) -> list[Path]:
    folder.mkdir(parents=True)
    paths = []
    for number in numbers:
        name = SEGMENT.format(
            boot="b" * 16, number=number, first=number * 10, last=number * 10 + 9, hash="0" * 64
        )
        paths.append(folder / name)
        paths[-1].write_bytes(bytes(size_bytes))
    return paths


async def test_room_is_made_in_the_stated_order_and_the_log_states_what_it_will_lack(
    disk: SmallDisk,
) -> None:
    data = disk.folder / "data"
    sent = put_segments(data / "log" / "sent", range(1, 4), 200_000)
    sealed = put_segments(data / "log" / "sealed", range(4, 9), 200_000)
    async with broker_on(disk) as broker:
        await broker.eventually(lambda: broker.status()["disk"]["total_bytes"] > 0)
        floor = broker.status()["disk"]["free_min"]
        disk.fill(leave_bytes=floor + 50_000)
        await broker.eventually(lambda: not sent[0].exists())
        assert all(path.exists() for path in sealed), "copies are enough"
        # The process that fills the disk takes any space that is freed.
        await broker.eventually(lambda: not disk.fill() and not sealed[3].exists())
        assert not any(path.exists() for path in (*sent, *sealed[:4]))
        assert sealed[4].exists(), "the next segment names it"
        disk.empty()
        await until_full(broker, full=False)
    reported = [
        (event["from_sequence"], event["to_sequence"])
        for blob in JournalReader(data).blobs_after(0, 1 << 20)
        for event in decode(blob).events
        if event["event"] == "log_truncated"
    ]
    gone = [
        number for first, last in reported for number in range(int(str(first)), int(str(last)) + 1)
    ]
    assert gone == list(range(40, 80))


async def test_a_disk_that_fills_byte_by_byte_ends_nothing(disk: SmallDisk) -> None:
    async with broker_on(disk) as broker:
        await with_queue(broker, 10)
        publisher = await log_in(broker, "p", clean=True)
        acknowledged = 10

        async def publish_on() -> None:
            nonlocal acknowledged
            while True:
                publisher.send(publish("t", b"%d" % acknowledged, qos=1, packet_id=1))
                async with asyncio.timeout(60):
                    assert await publisher._reader.readexactly(4) == b"\x40\x02\x00\x01"
                acknowledged += 1

        publishing = asyncio.create_task(publish_on())
        await broker.eventually(lambda: not disk.grow(16 << 10))
        await until_full(broker, full=True)
        disk.empty()
        await until_full(broker, full=False)
        before = acknowledged
        await broker.eventually(lambda: acknowledged > before + 10)
        publishing.cancel()
    async with broker_on(disk) as broker:
        session = broker.running.event_loop.broker.state.sessions["s"]
        assert session.queued_count in (acknowledged, acknowledged + 1)
