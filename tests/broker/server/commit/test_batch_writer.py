"""The event loop waits for a quick disk itself, a thread for a slow disk; failures are reported."""

import asyncio
import errno
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.broker.core.records.kinds import Observation
from gateway.broker.server.commit.batch_writer import (
    QUICK_BLOB_BYTES,
    QUICK_COMMIT_SECONDS,
    QUICK_COMMITS,
)
from gateway.broker.store.store import Store
from tests.broker.server.commit.on_disk import CommitterOnDisk


class TimedDisk(Store):
    """A store on a disk of a set speed; it records the thread that waited for the commit."""

    seconds = 0.0
    failure: OSError | None = None

    def fsync_commit(self) -> float:
        self.waited_on = threading.current_thread().name
        if self.failure is not None:
            raise self.failure
        super().fsync_commit()
        time.sleep(self.seconds)
        return self.seconds


class TimedCommits:
    """A committer on a `TimedDisk`, which commits one batch at a time."""

    def __init__(self, on_disk: CommitterOnDisk) -> None:
        assert isinstance(on_disk.store, TimedDisk)
        self.on_disk = on_disk
        self.store = on_disk.store

    async def is_here(self, records: int = 1) -> bool:
        """Commit a batch; return True if the event loop itself waited for the disk."""
        await self.on_disk.commit(records, "x" * 900)
        return self.store.waited_on == threading.current_thread().name


@asynccontextmanager
async def commits_on(data_dir: Path) -> AsyncIterator[TimedCommits]:
    on_disk = CommitterOnDisk(data_dir, store_class=TimedDisk)
    try:
        yield TimedCommits(on_disk)
    finally:
        await on_disk.close()


async def test_the_loop_waits_for_a_quick_disk_itself_and_for_no_other(tmp_path: Path) -> None:
    async with commits_on(tmp_path) as commits:
        assert not await commits.is_here(), "nothing is known of it yet"
        for _ in range(QUICK_COMMITS):
            await commits.is_here()
        assert await commits.is_here()
        # A large batch is written in the thread, so that the loop can decode the next batch.
        assert not await commits.is_here(QUICK_BLOB_BYTES // 900 + 1)
        assert await commits.is_here()
        commits.store.seconds = 2 * QUICK_COMMIT_SECONDS
        assert await commits.is_here(), "the loop does not know yet"
        assert await commits.is_here(), "one slow commit makes no slow disk"
        for _ in range(2 * QUICK_COMMITS):
            await commits.is_here()
        assert not any([await commits.is_here() for _ in range(2 * QUICK_COMMITS)])


@pytest.mark.parametrize("before", [0, QUICK_COMMITS], ids=["in the thread", "in the loop"])
async def test_a_commit_that_fails_ends_the_process_wherever_it_ran(
    tmp_path: Path, before: int
) -> None:
    async with commits_on(tmp_path) as commits:
        for _ in range(before):
            await commits.is_here()
        commits.store.failure = OSError(errno.EIO, "disk I/O error")
        batch = commits.on_disk.recorder.batch_number
        commits.on_disk.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
        commits.on_disk.committer.tick()
        async with asyncio.timeout(60):
            while not commits.on_disk.failures:  # noqa: ASYNC110 - the committer calls, it has no event
                await asyncio.sleep(0)
        assert (commits.store.waited_on == threading.current_thread().name) is (before > 0)
        assert commits.on_disk.broker.committed_batch == batch - 1
        assert "disk I/O error" in str(commits.on_disk.failures[0])
