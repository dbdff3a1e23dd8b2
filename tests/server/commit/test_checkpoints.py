"""Checkpoints beside the batches."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gateway.core.sessions.session import Session
from gateway.server.commit import checkpoints
from gateway.store.store import Store
from tests.server.commit.on_disk import CommitterOnDisk


class UnreadyStore(Store):
    """Its tables cannot be fsynced."""

    def finish_checkpoint(self) -> int:
        raise sqlite3.OperationalError("disk I/O error")


async def test_a_checkpoint_that_cannot_be_fsynced_ends_the_process(tmp_path: Path) -> None:
    on_disk = CommitterOnDisk(tmp_path, store_class=UnreadyStore)
    await on_disk.commit()
    await on_disk.checkpoint()
    await asyncio.sleep(0)
    (failure,) = on_disk.failures
    assert "cannot write broker.db: disk I/O error" in str(failure)
    assert on_disk.committer.failure is failure
    await on_disk.close()


async def test_the_next_checkpoint_waits_until_memory_has_let_go_of_what_the_last_one_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVICTION_SECONDS", -1.0)  # one session in one go
    on_disk = CommitterOnDisk(tmp_path)
    monkeypatch.setattr(on_disk.store, "wants_checkpoint", lambda *_: True)
    made = on_disk.committer.checkpoints
    assert made.is_due(1.0, 0.0)
    sessions = {Session(number, f"c{number}", True) for number in range(3)}
    monkeypatch.setattr(on_disk.store, "finish_checkpoint", lambda: 0)
    monkeypatch.setattr(on_disk.store, "checkpoint_finished", lambda _: None)
    made.rows_committed(sessions)
    for _ in range(2):
        assert not made.is_due(1.0, 0.0)
        await asyncio.sleep(0)
    assert made.is_due(1.0, 0.0)
    await made.finished()
    monkeypatch.undo()
    await on_disk.close()
