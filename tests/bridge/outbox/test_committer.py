"""The outbox's commits: what must be durable before a packet is sent, and their contents."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gateway.process.files.queue_opening import QueueError
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.outbox.bench import Bench, readings, rows_of, running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


async def test_a_publish_leaves_only_after_its_packet_identifier_is_durable(path: Path) -> None:
    async with running(Bench(path)) as bench:
        bench.connect()
        await bench.settled()
        bench.store.hold()
        durable = bench.outbox.submit(readings("a"))
        await bench.store.held_commit()
        assert bench.sent == []
        assert not durable.done()
        assert rows_of(path) == []
        bench.store.let_go()
        await bench.sends("a as 1")
        assert durable.done()
        assert rows_of(path) == [(b"a", 1, 0)]


async def test_a_pubrel_leaves_only_after_the_pubrec_is_durable(path: Path) -> None:
    async with running(Bench(path)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a"))
        await bench.sends("a as 1")
        bench.store.hold()
        commits = bench.store.commits
        bench.outbox.receive_pubrec(1)
        await bench.store.held_commit()
        assert (bench.sent, bench.store.commits) == ([], commits)
        assert rows_of(path) == [(b"a", 1, 0)]
        bench.store.let_go()
        await bench.sends("release 1")
        assert rows_of(path) == [(b"a", 1, 1)]


async def test_a_reading_is_removed_at_pubcomp(path: Path) -> None:
    async with running(Bench(path)) as bench:
        bench.connect()
        bench.outbox.submit(readings("a"))
        await bench.sends("a as 1")
        bench.outbox.receive_pubrec(1)
        await bench.sends("release 1")
        bench.outbox.receive_pubcomp(1)
        await asyncio.wait_for(bench.outbox.wait_until_empty(), DEADLINE_SECONDS)
        assert bench.outbox.status()["published"] == 1
    assert rows_of(path) == []


async def test_readings_that_come_during_a_commit_share_the_next(path: Path) -> None:
    async with running(Bench(path)) as bench:
        await bench.settled()
        commits = bench.store.commits
        bench.store.hold()
        bench.outbox.submit(readings("first"))
        await bench.store.held_commit()
        later = [bench.outbox.submit(readings(f"later{n}")) for n in range(100)]
        bench.store.let_go()
        await asyncio.wait(set(later), timeout=DEADLINE_SECONDS)
        assert bench.store.commits == commits + 2


async def test_nothing_is_started_without_a_connection(path: Path) -> None:
    async with running(Bench(path)) as bench:
        bench.outbox.submit(readings("a"))
        await bench.settled()
        assert rows_of(path) == [(b"a", None, 0)]
        bench.connect()
        await bench.sends("a as 1")
        bench.disconnect()
        bench.outbox.submit(readings("b"))
        await bench.settled()
        assert rows_of(path) == [(b"a", 1, 0), (b"b", None, 0)]


async def test_each_start_has_its_own_number(path: Path) -> None:
    numbers = []
    for _ in range(3):
        async with running(Bench(path)) as bench:
            numbers.append(bench.outbox.start_number)
    assert numbers == [1, 2, 3]


async def test_a_disk_that_refuses_ends_the_bridge_with_one_line(path: Path) -> None:
    bench = Bench(path)
    bench.store.begin = _refuse  # type: ignore[method-assign]
    bench.outbox.submit(readings("a"))
    with pytest.raises(QueueError, match=r"cannot write the outbox .*: database or disk is full"):
        await asyncio.wait_for(bench.outbox.run(), DEADLINE_SECONDS)
    await bench.outbox.close()


def _refuse() -> None:
    raise sqlite3.OperationalError("database or disk is full")
