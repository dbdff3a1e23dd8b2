"""The oldest readings of a port give way, except started ones and those of other ports."""

from collections import Counter
from pathlib import Path

import pytest
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.recovery import open_outbox_store
from firmware_bridge.readings.publications import ROW_OVERHEAD_BYTES, Publication

from tests.bridge.outbox.bench import Bench, rows_of, running, submit_frame

ROW_BYTES = len("t") + 2 + ROW_OVERHEAD_BYTES
ROOM = 10 * ROW_BYTES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


def reading(number: int, port: str | None = "gps") -> Publication:
    return Publication("t", b"%02d" % number, gives_way_of=port)


def payloads_of(path: Path) -> list[int]:
    return [int(payload) for payload, _, _ in rows_of(path)]


class Port:
    """The callbacks of a port, which record the calls of the outbox."""

    def __init__(self, outbox: Outbox, name: str = "gps") -> None:
        self.dropped: Counter[str] = Counter()
        self.times_over = 0
        outbox.allow_drops(name, self._drop, self._over)

    def _drop(self, reason: str, count: int) -> None:
        self.dropped[reason] += count

    def _over(self) -> None:
        self.times_over += 1


async def test_the_oldest_are_dropped_also_across_a_restart(path: Path) -> None:
    async with running(Bench(path, bytes_max=ROOM)) as bench:
        port = Port(bench.outbox)
        for number in range(25):
            bench.outbox.submit([reading(number)])
            await bench.settled()
            assert bench.outbox.full_by is None, "others still find room"
        assert port.dropped == {"outbox_full": 15}
        assert bench.outbox.status()["waiting"] == 10
        assert payloads_of(path) == list(range(15, 25))
    async with running(Bench(path, bytes_max=ROOM)) as bench:
        port = Port(bench.outbox)
        bench.outbox.submit([reading(number) for number in range(25, 28)])
        await bench.settled()
        assert port.dropped == {"outbox_full": 3}
        assert payloads_of(path) == list(range(18, 28))
        assert (bench.outbox.status()["waiting"], bench.outbox.status()["bytes"]) == (10, ROOM)


async def test_what_the_run_before_has_sent_is_kept(path: Path) -> None:
    async with running(Bench(path, window=4, bytes_max=ROOM)) as bench:
        Port(bench.outbox)
        bench.connect()
        bench.outbox.submit([reading(number) for number in range(6)])
        await bench.settled()
    async with running(Bench(path, window=4, bytes_max=ROOM)) as bench:
        port = Port(bench.outbox)
        bench.outbox.submit([reading(number) for number in range(6, 13)])
        await bench.settled()
        assert port.dropped == {"outbox_full": 3}
        assert payloads_of(path) == [0, 1, 2, 3, *range(7, 13)]
        status = bench.outbox.status()
        assert (status["waiting"], status["in_flight"], status["bytes"]) == (6, 4, ROOM)


async def test_those_of_other_ports_and_of_boards_are_kept(path: Path) -> None:
    async with running(Bench(path, bytes_max=ROOM)) as bench:
        port = Port(bench.outbox)
        bench.outbox.submit([reading(number, None) for number in range(4)])
        bench.outbox.submit([reading(number, "other") for number in range(4, 8)])
        bench.outbox.submit([reading(number) for number in range(8, 18)])
        await bench.settled()
        assert payloads_of(path) == [*range(8), 16, 17]
        assert port.dropped == {"outbox_full": 8}
        submit_frame(bench, 1, "99")
        await bench.settled()
        assert not submit_frame(bench, 1, "99")[1].is_new, "what was accepted stays accepted"
        bench.outbox.submit([reading(number, None) for number in range(20, 30)])
        await bench.settled()
        assert bench.outbox.full_by == "bytes", "nothing more can give way"
        assert bench.outbox.status()["waiting"] == 19
    assert port.dropped == {"outbox_full": 10}


async def test_one_that_was_started_is_never_dropped_until_its_session_is_lost(path: Path) -> None:
    async with running(Bench(path, window=3, bytes_max=ROOM)) as bench:
        port = Port(bench.outbox)
        bench.connect()
        bench.outbox.submit([reading(number) for number in range(10)])
        await bench.settled()
        bench.disconnect()
        bench.outbox.submit([reading(number) for number in range(10, 30)])
        await bench.settled()
        assert payloads_of(path) == [0, 1, 2, *range(23, 30)]
        assert [packet_id for _, packet_id, _ in rows_of(path)][:4] == [1, 2, 3, None]
        await bench.outbox.lose_session()
        bench.outbox.submit([reading(30)])
        await bench.settled()
        assert payloads_of(path) == [1, 2, *range(23, 31)]
        assert port.dropped == {"outbox_full": 21}
        bench.connect(session_present=False)
        for packet_id in range(4, 14):
            await bench.settled()
            bench.outbox.receive_pubrec(packet_id)
            await bench.settled()
            bench.outbox.receive_pubcomp(packet_id)
        await bench.settled()
        assert (bench.outbox.status()["published"], bench.outbox.status()["waiting"]) == (10, 0)
        bench.outbox.submit([reading(31)])
        await bench.settled()
        assert port.times_over == 1


async def test_readings_that_are_too_old_are_dropped_and_others_make_the_outbox_full(
    path: Path,
) -> None:
    store = open_outbox_store(path)
    store.begin()
    store.readings.insert([reading(number) for number in range(3)], 0)
    store.readings.insert([reading(3), reading(4)], 1000)
    store.commit()
    store.close()
    async with running(Bench(path, age_max_seconds=500)) as bench:
        port = Port(bench.outbox)
        bench.outbox.submit([reading(5)])
        await bench.settled()
        assert port.dropped == {"outbox_age": 3}
        assert bench.outbox.full_by is None
    async with running(Bench(path, age_max_seconds=500)) as bench:
        store = bench.store
        store.begin()
        store.readings.insert([reading(6, None)], 100_000)
        store.commit()
    async with running(Bench(path, age_max_seconds=500)) as bench:
        bench.outbox.submit([reading(7)])
        await bench.settled()
        assert bench.outbox.full_by == "age", "its port keeps its readings now"
        assert payloads_of(path) == [3, 4, 5, 6, 7]
