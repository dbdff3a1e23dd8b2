"""Mutants with mistakes in what is on the disk at which time."""

from collections.abc import Iterator
from typing import Any

from gateway.broker.core.output import SealedBatch
from gateway.broker.core.sessions.session import Session
from gateway.broker.server.commit.batch_writer import BatchWriter
from gateway.broker.server.commit.checkpoints import Checkpoints
from gateway.broker.server.commit.committer import Committer
from gateway.broker.store.checkpoint import Checkpoint
from gateway.broker.store.store import Store
from tests.instruments.simulation.mutant import one


def _checkpoint_counts_too_early(right: Any) -> object:
    def run(self: Checkpoint) -> Iterator[bool]:
        self._finish()
        yield from right(self)

    return run


def _blobs_dropped_too_early(right: Any) -> object:
    def opened(self: Store, *arguments: Any) -> object:
        found = right(self, *arguments)
        self._checkpoints.first_uncovered = found.recovered.next_sequence
        return found

    return opened


def _checkpoint_not_fsynced(_: object) -> object:
    def finish(self: Checkpoints, sessions: set[Session]) -> None:
        self.store.checkpoint_finished(self.store.first_unwritten)
        self._evictable = list(sessions)
        self._evict()

    return finish


def _failed_commit_ignored(right: Any) -> object:
    def committed(self: BatchWriter, done: Any, batch: SealedBatch) -> None:
        if done.exception() is not None:
            done = self._loop.create_future()
            done.set_result(1.0)
        right(self, done, batch)

    return committed


def _rows_before_their_batch(right: Any) -> object:
    def begin(self: BatchWriter, now: float) -> None:
        right(self, now)
        checkpoints = self.checkpoints
        if checkpoints._committing is None and self.store.has_rows:
            self.store.commit_rows()
            sessions = self.store.rows_committed()
            if sessions is not None:
                checkpoints.finish(sessions)

    return begin


def _full_disk_ignored(_: object) -> object:
    def wait_for_room(self: BatchWriter, error: object, batch: SealedBatch) -> None:
        self._end()
        self._release(batch)

    return wait_for_room


def _does_nothing(_: object) -> object:
    def nothing(_self: object) -> None:
        return

    return nothing


MUTANTS_OF_COMMITS = (
    one("checkpoint counts too early", Checkpoint, "_run", _checkpoint_counts_too_early, begin=11),
    one("blobs dropped too early", Store, "_open", _blobs_dropped_too_early, begin=68),
    one("checkpoint not fsynced", Checkpoints, "finish", _checkpoint_not_fsynced),
    one("failed commit ignored", BatchWriter, "_committed", _failed_commit_ignored),
    one(
        "commit rows before their batch", BatchWriter, "_begin", _rows_before_their_batch, begin=165
    ),
    one("full disk ignored", BatchWriter, "_wait_for_room", _full_disk_ignored),
    one("what no client waits for is not written", Committer, "write_down", _does_nothing),
)
