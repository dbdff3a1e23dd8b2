"""The outbox on a disk that others fill: a small tmpfs, for which root is needed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.recovery import open_outbox_store
from firmware_bridge.outbox.store import OutboxStore

from gateway.process.files.queue_database import NoRoom
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.outbox.bench import Bench, readings, running, submit_frame
from tests.small_disk import SmallDisk, small_disk

DISK_BYTES = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "d", DISK_BYTES) as disk:
        yield disk


async def becomes_full(outbox: Outbox, *, full: bool) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while outbox.status()["disk_full"] is not full:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.05)


async def test_on_a_full_disk_readings_wait_and_what_is_stored_goes_out(disk: SmallDisk) -> None:
    bench = Bench(disk.folder / "outbox.db")
    async with running(bench):
        await asyncio.shield(bench.outbox.submit(readings("a", "b")))
        disk.fill()
        waits = bench.outbox.submit(readings("c"))
        await becomes_full(bench.outbox, full=True)
        assert bench.outbox.full_by, "ports hear of it"
        bench.connect()
        await bench.sends("a as 1", "b as 2")
        bench.outbox.receive_pubrec(1)
        await bench.sends("release 1")
        bench.outbox.receive_pubcomp(1)
        bench.outbox.receive_pubrec(2)
        await bench.sends("release 2")
        assert disk.free_bytes == 0
        assert not waits.done(), "acknowledged on a full disk"
        disk.empty()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.shield(waits)
        await bench.sends("c as 3")
        await becomes_full(bench.outbox, full=False)
        assert not bench.outbox.full_by


async def test_acknowledgements_continue_for_long_with_nothing_free(disk: SmallDisk) -> None:
    names = [f"r{number:04}" for number in range(3_000)]
    bench = Bench(disk.folder / "outbox.db", window=100)
    async with running(bench):
        await asyncio.shield(bench.outbox.submit(readings(*names)))
        disk.fill()
        bench.connect()
        async with asyncio.timeout(60):
            for first in range(0, len(names), 100):
                while len(bench.sent) < 100:
                    bench._news.clear()
                    await bench._news.wait()
                sent = [line.split() for line in bench.sent]
                assert [line[0] for line in sent] == names[first : first + 100]
                bench.sent.clear()
                identifiers = [int(line[2]) for line in sent]
                for packet_id in identifiers:
                    bench.outbox.receive_pubrec(packet_id)
                while len(bench.sent) < 100:
                    bench._news.clear()
                    await bench._news.wait()
                bench.sent.clear()
                for packet_id in identifiers:
                    bench.outbox.receive_pubcomp(packet_id)
        assert disk.free_bytes < 64 << 10
        disk.empty()
    store = OutboxStore(disk.folder / "outbox.db")
    assert store.readings.totals() == (0, 0)
    store.close()


async def test_readings_that_waited_are_stored_once_and_in_order_whenever_room_comes(
    disk: SmallDisk,
) -> None:
    bench = Bench(disk.folder / "outbox.db")
    async with running(bench):
        bench.connect()
        sent = 0
        for fill in range(10):
            disk.fill()
            futures = []
            for number in range(20):
                futures.append(bench.outbox.submit(readings(f"r{fill}-{number}")))
                await asyncio.sleep(0)
            await becomes_full(bench.outbox, full=True)
            assert not futures[0].done()
            disk.empty()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await asyncio.gather(*(asyncio.shield(each) for each in futures))
            sent += 20
        store_count = bench.outbox.status()
        assert store_count["waiting"] + store_count["in_flight"] == sent
    rows = OutboxStore(disk.folder / "outbox.db")
    found = [each.message for each in rows.readings.in_flight()]
    found += [each for _, each in rows.readings.waiting(1_000)]
    stored = [each.payload.decode() for each in found]
    assert stored == [f"r{fill}-{number}" for fill in range(10) for number in range(20)]
    rows.close()


async def test_a_frame_sent_again_on_a_full_disk_is_acknowledged_no_sooner_than_its_original(
    disk: SmallDisk,
) -> None:
    bench = Bench(disk.folder / "outbox.db")
    async with running(bench):
        disk.fill()
        original, _ = submit_frame(bench, 1, "a")
        await becomes_full(bench.outbox, full=True)
        again, placement = submit_frame(bench, 1, "a")
        assert not placement.is_new
        bench.connect()
        await bench.outbox.lose_session()  # Needs no free space.
        assert not original.done()
        assert not again.done(), "acknowledged before it is durable"
        disk.empty()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.gather(asyncio.shield(original), asyncio.shield(again))


async def test_a_start_on_a_full_disk_reports_it_and_damages_nothing(disk: SmallDisk) -> None:
    bench = Bench(disk.folder / "outbox.db")
    async with running(bench):
        await asyncio.shield(bench.outbox.submit(readings("a")))
    disk.fill()
    with pytest.raises(NoRoom):
        open_outbox_store(disk.folder / "outbox.db")
    disk.empty()
    bench = Bench(disk.folder / "outbox.db")
    async with running(bench):
        bench.connect()
        await bench.sends("a as 1")
