"""Checkpoints that are written while batches are committed."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from gateway.broker.core.sessions.session import Session
from gateway.broker.server.commit import checkpoints
from gateway.broker.store.store import Store
from tests.broker.server.commit.on_disk import CommitterOnDisk


class UnreadyStore(Store):
    """A store whose tables cannot be fsynced."""

    def finish_checkpoint(self) -> int:
        raise sqlite3.OperationalError("disk I/O error")


class RowlessStore(Store):
    """A store whose tables accept no rows."""

    def commit_rows(self) -> None:
        raise sqlite3.OperationalError("disk I/O error")


class SlowRows(Store):
    """A store that commits rows only after the test permits it."""

    def __init__(self, data_dir: Path, journal_file_bytes: int) -> None:
        super().__init__(data_dir, journal_file_bytes)
        self.let_go = threading.Event()

    def commit_rows(self) -> None:
        self.let_go.wait()
        super().commit_rows()


async def test_a_checkpoint_that_cannot_be_fsynced_ends_the_process(tmp_path: Path) -> None:
    on_disk = CommitterOnDisk(tmp_path, store_class=UnreadyStore)
    await on_disk.commit()
    await on_disk.checkpoint()
    await asyncio.sleep(0)
    (failure,) = on_disk.failures
    assert "cannot write broker.db: disk I/O error" in str(failure)
    assert on_disk.committer.failure is failure
    await on_disk.close()


async def test_rows_that_cannot_be_committed_end_the_process(tmp_path: Path) -> None:
    on_disk = CommitterOnDisk(tmp_path, store_class=RowlessStore)
    await on_disk.commit()
    await on_disk.checkpoint()
    (failure,) = on_disk.failures
    assert "cannot write broker.db: disk I/O error" in str(failure)
    await on_disk.close()


async def test_no_batch_waits_for_rows_of_a_checkpoint(tmp_path: Path) -> None:
    on_disk = CommitterOnDisk(tmp_path, store_class=SlowRows)
    store, made = on_disk.store, on_disk.committer.checkpoints
    assert isinstance(store, SlowRows)
    await on_disk.commit()
    first_uncovered = on_disk.recorder.next_sequence
    store.begin_checkpoint(on_disk.opened.recovered, first_uncovered, 0.0)
    for _ in range(3):
        await on_disk.commit()  # the first batch has rows of the checkpoint
        assert store.has_rows
    assert store.first_unwritten < first_uncovered
    store.let_go.set()
    await made.committed()
    await made.finished()
    assert store.first_unwritten == first_uncovered
    await on_disk.close()


async def test_the_next_checkpoint_waits_until_memory_has_let_go_of_what_the_last_one_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVICTION_SECONDS", -1.0)  # one session per turn of the loop
    on_disk = CommitterOnDisk(tmp_path)
    monkeypatch.setattr(on_disk.store, "wants_checkpoint", lambda *_: True)
    made = on_disk.committer.checkpoints
    assert made.is_due(1.0, 0.0)
    sessions = {Session(number, f"c{number}", True) for number in range(3)}
    monkeypatch.setattr(on_disk.store, "finish_checkpoint", lambda: 0)
    monkeypatch.setattr(on_disk.store, "checkpoint_finished", lambda _: None)
    made.finish(sessions)
    for _ in range(2):
        assert not made.is_due(1.0, 0.0)
        await asyncio.sleep(0)
    assert made.is_due(1.0, 0.0)
    await made.finished()
    monkeypatch.undo()
    await on_disk.close()
