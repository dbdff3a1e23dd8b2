"""Commits of a queue: everything that arrived while the disk was busy is one transaction.

The durability guarantee of the bridge and the uplink is one method, `QueueCommitter._commit_batch`:
one transaction with one fsync, and the packets that depend on it are sent afterwards.

| sent | after this is durable |
|---|---|
| acknowledgement to the source of a message | the message, and that it was accepted |
| PUBLISH | the message with the packet identifier it is sent under |
| PUBREL | that PUBREC was received |
| (no packet) | the removal after PUBCOMP or PUBACK, which joins the next commit |
"""

import asyncio
import contextlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

from gateway.process.durable_queue.broker_queue import BrokerQueue
from gateway.process.files.queue_database import CommitThread, QueueDatabase
from gateway.process.files.queue_opening import QueueNames

NO_ROOM_SECONDS: Final = 0.5
"""Wait between two attempts on a full disk."""
REMOVAL_SECONDS_MAX: Final = 1.0
"""How long a removal that no client waits for may wait for another commit: one fsync each would
wear an SD card out."""

Signal = TypeVar("Signal")


class QueueCommitter(ABC, Generic[Signal]):
    """The only writer of the database of `queues`. Signals are what a connection received.

    `commit_delay_seconds`: how long a batch waits for more, unless `hurry` is called.
    """

    queues: Sequence[BrokerQueue[Any]]

    def __init__(
        self,
        database: QueueDatabase,
        commits: CommitThread,
        names: QueueNames,
        *,
        commit_delay_seconds: float = 0.0,
    ) -> None:
        self._database = database
        self._names = names
        self._commit_delay_seconds = commit_delay_seconds
        self.commits = commits
        self.disk_full = False
        self._signals: list[Signal] = []
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        """Set: the commit does not wait for more."""
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._removal_timer: asyncio.TimerHandle | None = None
        self._removals_due = False
        self._stopping = False
        database.space.make_reserve()

    # Defined by each program

    @property
    @abstractmethod
    def has_arrivals(self) -> bool:
        """True if messages wait to be stored."""

    @abstractmethod
    def _settle(self, signals: Sequence[Signal]) -> None:
        """Settle signals, and give the results to the queues."""

    @abstractmethod
    def _plan(self, *, takes_arrivals: bool) -> bool:
        """Choose what to store. `takes_arrivals`: the disk has room for new messages.

        Return True if it is worth a commit.
        """

    @abstractmethod
    def _write_rows(self) -> None:
        """Store what was planned, and start exchanges, in the transaction."""

    @abstractmethod
    def _committed(self) -> bool:
        """Record that the batch is durable. Return True if another is due because of that."""

    @abstractmethod
    def _send(self) -> None:
        """Send the packets that depend on the batch."""

    @abstractmethod
    def _report_disk(self) -> None:
        """Report that `disk_full` has changed."""

    def signal(self, signal: Signal) -> None:
        """Queue a connection's signal for the next commit."""
        self._signals.append(signal)
        self._changed.set()

    def wake(self) -> None:
        """Commit soon, even if nothing has arrived."""
        self._changed.set()

    def hurry(self) -> None:
        """Start the next commit without waiting for more."""
        self._urgent.set()

    async def settle(self) -> None:
        """Wait until everything signalled before this call is durable and answered.

        New messages may still wait for room on the disk.
        """
        settled = self._settled
        self._changed.set()
        await asyncio.shield(settled)

    async def run(self) -> None:
        """Commit batches until `stop`.

        Raises:
            QueueError: the disk failed. Nothing untrue has been sent, so a restart is safe.
        """
        try:
            stopping = False
            while not stopping:
                await self._changed.wait()
                await self._gather()
                stopping = self._stopping
                await self._commit_batch()
        except sqlite3.Error as error:
            raise self._names.cannot_write(self._database.path, error) from error

    def stop(self) -> None:
        """Make `run` commit the rest and return."""
        self._stopping = self._removals_due = True
        self._urgent.set()
        self._changed.set()

    async def close(self) -> None:
        """Close the database, after a COMMIT that may be running in the worker thread."""
        await self.commits.close()
        self._end_removal_timer()

    # One batch

    async def _gather(self) -> None:
        """Wait for more to commit, as long as nothing is urgent."""
        if self._commit_delay_seconds and not self.disk_full:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._commit_delay_seconds):
                    await self._urgent.wait()

    async def _commit_batch(self) -> bool:
        """Commit a batch and send its packets.

        Return False if it was stopped on a full disk: nothing may be sent.
        """
        self._changed.clear()
        self._urgent.clear()
        settled, self._settled = self._settled, asyncio.get_running_loop().create_future()
        signals, self._signals = self._signals, []
        self._settle(signals)
        if not await self._write():
            return False
        self._send()
        settled.set_result(None)
        return True

    async def _write(self) -> bool:
        """Commit the pending changes and, if there is room, new messages.

        Return False if there is not even room for the changes and the program is about to stop.
        """
        if self.disk_full or self.has_arrivals:
            self._note_disk(has_room=self._database.space.has_room())
        while self._is_due(planned=self._plan(takes_arrivals=not self.disk_full)):
            self._database.begin()
            for queue in self.queues:
                if queue.settlement.session is not None:
                    self._database.set_property(queue.session_key, queue.settlement.session)
                queue.write_settled()
            self._write_rows()
            if await self.commits.commit():
                self._note_committed()
                return True
            for queue in self.queues:
                queue.take_back()
            was_full = self.disk_full
            self._note_disk(has_room=False)
            if was_full:  # Otherwise there may be room without new messages.
                if self._stopping:
                    return False
                await asyncio.sleep(NO_ROOM_SECONDS)
        self._postpone_removals()
        return True

    def _is_due(self, *, planned: bool) -> bool:
        """Return True if there is more to commit than removals, or if these have waited."""
        return planned or any(
            each.settlement.needs_commit or each.can_start or (each.gone and self._removals_due)
            for each in self.queues
        )

    def _note_committed(self) -> None:
        self._removals_due = self._stopping
        self._end_removal_timer()
        for queue in self.queues:
            queue.committed()
        if self._committed():
            self._changed.set()

    def _postpone_removals(self) -> None:
        if self._removal_timer is None and any(each.gone for each in self.queues):
            loop = asyncio.get_running_loop()
            self._removal_timer = loop.call_later(REMOVAL_SECONDS_MAX, self._make_removals_due)

    def _make_removals_due(self) -> None:
        self._removals_due = True
        self._changed.set()

    def _end_removal_timer(self) -> None:
        if self._removal_timer is not None:
            self._removal_timer.cancel()
            self._removal_timer = None

    def _note_disk(self, *, has_room: bool) -> None:
        if not has_room:
            asyncio.get_running_loop().call_later(NO_ROOM_SECONDS, self._changed.set)
        if has_room == self.disk_full:
            self.disk_full = not has_room
            if has_room:
                self._database.space.make_reserve()
            self._report_disk()
