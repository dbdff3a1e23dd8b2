"""Commits: when a batch is due, and the last batches while other work is in progress."""

import asyncio
import dataclasses
from pathlib import Path

import pytest

from gateway.broker.core.records.kinds import Observation
from gateway.broker.store import checkpointing, journal
from tests.broker.server.commit.on_disk import CommitterOnDisk


async def _drop_while_draining(data_dir: Path) -> None:
    ending = CommitterOnDisk(data_dir, journal_file_bytes=300)
    store, recorder, committer = ending.store, ending.recorder, ending.committer
    for _ in range(10):
        await ending.commit()
    await ending.checkpoint()
    committer.journal_room.exported(recorder.next_sequence - 1)
    assert store.has_droppable()
    committer.upkeep(1 << 30)
    await committer.drain()
    committer.tick()  # as in the event loop's last tick
    store.close(clean=True)


def test_a_broker_that_stops_while_it_drops_exported_blobs_stops_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "DROP_FILES_MAX", 1)
    asyncio.run(_drop_while_draining(tmp_path))
    assert not (tmp_path / "broker.running").exists()


async def _tick_while_draining(data_dir: Path) -> None:
    ticks = [1, 2, 3]

    def tick_of_the_event_loop() -> None:
        """Record an event and tick, as the event loop may do before `drain` continues."""
        if ticks:
            recorder.observed(None, Observation.LIMIT_HIT, "max_retained", str(ticks.pop()))
            committer.tick()
            recorder.observed(
                None, Observation.LIMIT_HIT, "max_retained", "for the batch behind it"
            )

    ending = CommitterOnDisk(data_dir, tick_of_the_event_loop)
    recorder, committer = ending.recorder, ending.committer
    recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
    await committer.drain()
    assert committer.failure is None
    ending.store.close(clean=True)


def test_a_tick_of_the_event_loop_amid_the_last_batches_does_not_spoil_a_clean_stop(
    tmp_path: Path,
) -> None:
    asyncio.run(_tick_while_draining(tmp_path))
    assert not (tmp_path / "broker.running").exists()


async def _upkeep_while_draining(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = CommitterOnDisk(data_dir)
    store, committer = ending.store, ending.committer
    ending.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
    # A checkpoint is always due, and the upkeep runs just after a checkpoint has finished.
    monkeypatch.setattr(checkpointing, "CHECKPOINT_BYTES", 0)
    committer.upkeep(1 << 30)
    await ending.released.wait()
    await committer.checkpoints.committed()
    finishing = committer.checkpoints._finishing
    assert finishing is not None
    finishing.add_done_callback(lambda _: committer.upkeep(1 << 30))
    await committer.drain()
    assert committer.failure is None
    store.close(clean=True)


def test_upkeep_amid_the_last_checkpoint_begins_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_upkeep_while_draining(tmp_path, monkeypatch))
    assert not (tmp_path / "broker.running").exists()


async def test_what_no_client_waits_for_is_committed_within_the_lazy_delay(tmp_path: Path) -> None:
    on_disk = CommitterOnDisk(tmp_path)
    committer = on_disk.committer
    committer.limits = dataclasses.replace(committer.limits, lazy_commit_delay=0.05)
    on_disk.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
    committer.tick()
    assert not committer.writer.is_busy
    await on_disk.released.wait()
    assert committer.metrics.batches == 1
    await on_disk.close()


async def test_a_mistake_of_our_own_lets_nothing_more_be_committed(tmp_path: Path) -> None:
    on_disk = CommitterOnDisk(tmp_path)
    committer = on_disk.committer
    committer.halt(KeyError("session 17"))
    committer.halt(KeyError("what follows from it"))
    (failure,) = on_disk.failures
    assert "a mistake in the broker itself (KeyError: 'session 17')" in str(failure)
    on_disk.recorder.observed(None, Observation.LIMIT_HIT, "max_retained", "")
    committer.tick()
    committer.upkeep(1 << 30)
    committer.write_down()
    assert committer.metrics.batches == 0
    await on_disk.close()
