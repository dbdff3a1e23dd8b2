"""Commits changes to queues. All changes that arrive while the disk is busy become one transaction.

The durability guarantee of the bridge and the uplink is implemented in a single method,
`QueueCommitter._commit_batch`. This method executes one transaction with one fsync, and then sends
the packets that depend on the transaction:

| sent | after this is durable |
|---|---|
| acknowledgement to the source of a message | the message, and that it was accepted |
| PUBLISH | the message with the packet identifier under which it is sent |
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
"""Seconds between two attempts to write to a full disk."""
REMOVAL_SECONDS_MAX: Final = 1.0
"""Longest delay of a removal, in seconds, so that it can join another commit.

No client waits for a removal. One fsync for each removal would wear out an SD card.
"""

Signal = TypeVar("Signal")


class QueueCommitter(ABC, Generic[Signal]):
    """Base class that commits all changes to the queues in `queues`, which share one database.

    A signal is an event on a connection, such as a received packet. Each commit is delayed by
    `commit_delay_seconds` to include more signals, unless `hurry` is called.
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
        """Set if the next commit starts without a delay."""
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._removal_timer: asyncio.TimerHandle | None = None
        self._removals_due = False
        self._stopping = False
        database.space.make_reserve()

    # Methods that each program defines

    @property
    @abstractmethod
    def has_arrivals(self) -> bool:
        """True if received messages are waiting to be stored."""

    @abstractmethod
    def _settle(self, signals: Sequence[Signal]) -> None:
        """Process connection events in order, and apply their effects to the queues."""

    @abstractmethod
    def _plan(self, *, takes_arrivals: bool) -> bool:
        """Choose the changes to store with the next commit. Return True if there are any changes.

        `takes_arrivals` is True if the disk has room for new messages.
        """

    @abstractmethod
    def _write_rows(self) -> None:
        """Store the changes chosen by `_plan`, and start exchanges, in the current transaction."""

    @abstractmethod
    def _committed(self) -> bool:
        """Record that the current batch is durable. Return True if another commit is needed now."""

    @abstractmethod
    def _send(self) -> None:
        """Send the packets that depend on the current batch, which is now durable."""

    @abstractmethod
    def _report_disk(self) -> None:
        """Report that the disk has become full, or that it has room again."""

    def signal(self, signal: Signal) -> None:
        """Queue a connection event, to be processed with the next commit."""
        self._signals.append(signal)
        self._changed.set()

    def wake(self) -> None:
        """Request a commit soon, even if no connection event has arrived."""
        self._changed.set()

    def hurry(self) -> None:
        """Start the next commit without waiting for `commit_delay_seconds`."""
        self._urgent.set()

    async def settle(self) -> None:
        """Wait until the effects of all earlier connection events are durable.

        When this method returns, the packets that depend on these effects have been sent. Newly
        received messages might not be stored yet if the disk is full.
        """
        settled = self._settled
        self._changed.set()
        await asyncio.shield(settled)

    async def run(self) -> None:
        """Commit batches until `stop` is called.

        Raises:
            QueueError: if the disk failed. A restart is safe, because nothing was acknowledged too
                early.
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
        """Make `run` commit the remaining changes and return."""
        self._stopping = self._removals_due = True
        self._urgent.set()
        self._changed.set()

    async def close(self) -> None:
        """Close the database. A COMMIT that is still running in the worker thread is completed."""
        await self.commits.close()
        self._end_removal_timer()

    # One batch

    async def _gather(self) -> None:
        """Wait `commit_delay_seconds` for more connection events, or until `hurry` is called."""
        if self._commit_delay_seconds and not self.disk_full:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._commit_delay_seconds):
                    await self._urgent.wait()

    async def _commit_batch(self) -> bool:
        """Commit a batch, and then send its packets.

        Return False, without sending any packets, if the program is stopped while the disk is full.
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

        Return False if the program is stopped while there is no room even for the pending changes.
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
                queue.undo_start()
            was_full = self.disk_full
            self._note_disk(has_room=False)
            if was_full:  # Otherwise, an attempt without new messages may succeed.
                if self._stopping:
                    return False
                await asyncio.sleep(NO_ROOM_SECONDS)
        self._postpone_removals()
        return True

    def _is_due(self, *, planned: bool) -> bool:
        """Return True if pending changes require a commit now. Removals alone can be delayed.

        `planned` is the result of `_plan`.
        """
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
