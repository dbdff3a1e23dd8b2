"""A quick disk is waited for in the loop, a slow one in the commit thread; no failure is quiet."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.configuration.sections import Limits
from gateway.core.broker import Broker
from gateway.core.limits import Limits as CoreLimits
from gateway.core.records.kinds import Observation
from gateway.core.records.recorder import Recorder
from gateway.server.commit.batch_writer import (
    QUICK_BLOB_BYTES,
    QUICK_COMMIT_SECONDS,
    QUICK_COMMITS,
)
from gateway.server.commit.committer import Committer
from gateway.server.commit.faults import StoreFailed
from gateway.server.host.clock import WallClock
from gateway.store.store import Store


class TimedDisk(Store):
    """A store on a disk that takes as long as the test says, and tells which thread waited."""

    seconds = 0.0
    failure: sqlite3.Error | None = None

    def fsync_commit(self) -> float:
        self.waited_on = threading.current_thread().name
        if self.failure is not None:
            raise self.failure
        super().fsync_commit()
        time.sleep(self.seconds)
        return self.seconds


class Commits:
    """A committer, one batch at a time."""

    def __init__(self, store: TimedDisk) -> None:
        self.store = store
        opened = store.open([], 0.0)
        self.recorder = Recorder(opened.recovered.state, opened.store, b"\x01" * 8, 1, 1)
        self.broker = Broker(opened.recovered.state, self.recorder, CoreLimits(), False, [])
        self.spoken = asyncio.Event()
        self.failures: list[StoreFailed] = []
        self.committer = Committer(
            self.broker,
            store,
            opened.recovered,
            Limits(lazy_commit_delay=0.0),
            WallClock(),
            released=self.spoken.set,
            failed=self.failures.append,
        )

    async def commit(self, records: int = 1) -> str:
        """Commit a batch; return the name of the thread that waited for the disk."""
        for _ in range(records):
            self.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "x" * 900)
        self.spoken.clear()
        self.committer.tick()
        await self.spoken.wait()
        return self.store.waited_on

    async def is_here(self, records: int = 1) -> bool:
        """Commit a batch; return whether the loop waited for the disk itself."""
        return await self.commit(records) == threading.current_thread().name


@asynccontextmanager
async def commits_on(data_dir: Path) -> AsyncIterator[Commits]:
    commits = Commits(TimedDisk(data_dir))
    try:
        yield commits
    finally:
        await commits.committer.drain()
        commits.store.close(clean=not commits.failures)


async def test_the_loop_waits_for_a_quick_disk_itself_and_for_no_other(tmp_path: Path) -> None:
    async with commits_on(tmp_path) as commits:
        assert not await commits.is_here(), "nothing is known of it yet"
        for _ in range(QUICK_COMMITS):
            await commits.commit()
        assert await commits.is_here()
        # A batch that takes longer to write leaves the loop free to decode the next.
        assert not await commits.is_here(QUICK_BLOB_BYTES // 900 + 1)
        assert await commits.is_here()
        commits.store.seconds = 2 * QUICK_COMMIT_SECONDS
        assert await commits.is_here(), "nobody knew yet"
        assert await commits.is_here(), "one slow commit makes no slow disk"
        for _ in range(2 * QUICK_COMMITS):
            await commits.commit()
        assert not any([await commits.is_here() for _ in range(2 * QUICK_COMMITS)])


@pytest.mark.parametrize("before", [0, QUICK_COMMITS], ids=["in the thread", "in the loop"])
async def test_a_commit_that_fails_ends_the_process_wherever_it_ran(
    tmp_path: Path, before: int
) -> None:
    async with commits_on(tmp_path) as commits:
        for _ in range(before):
            await commits.commit()
        commits.store.failure = sqlite3.OperationalError("disk I/O error")
        batch = commits.recorder.batch_number
        commits.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
        commits.committer.tick()
        async with asyncio.timeout(20):
            while not commits.failures:  # noqa: ASYNC110 - the committer calls, it has no event
                await asyncio.sleep(0)
        assert (commits.store.waited_on == threading.current_thread().name) is (before > 0)
        assert commits.broker.committed_batch == batch - 1
        assert "disk I/O error" in str(commits.failures[0])
