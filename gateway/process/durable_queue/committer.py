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

ConnectionEvent = TypeVar("ConnectionEvent")


class QueueCommitter(ABC, Generic[ConnectionEvent]):
    """Base class of the bridge's and the uplink's committer, which commits all changes to queues.

    The attribute `queues` contains the queues, which share one database. Each commit is delayed by
    `commit_delay_seconds`, so that it includes more connection events, such as received packets.
    A call of `hurry` ends the delay.
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
        self._events: list[ConnectionEvent] = []
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        """Set if the next commit starts without a delay."""
        self._durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
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
    def _process(self, events: Sequence[ConnectionEvent]) -> None:
        """Process connection events in order, and apply their effects to the queues."""

    @abstractmethod
    def _plan(self, *, takes_arrivals: bool) -> bool:
        """Select the changes that the next commit stores. Return True if there are any.

        New messages are selected only if the argument `takes_arrivals` is True. It is False while
        the disk is full.
        """

    @abstractmethod
    def _write_rows(self) -> None:
        """Store the changes selected by `_plan` and start exchanges, in the current transaction."""

    @abstractmethod
    def _committed(self) -> bool:
        """Record that the current batch is durable. Return True if another commit is needed now."""

    @abstractmethod
    def _send(self) -> None:
        """Send the packets that depend on the current batch, which is now durable."""

    @abstractmethod
    def _report_disk(self) -> None:
        """Report that the disk has become full, or that it has room again."""

    def add_event(self, event: ConnectionEvent) -> None:
        """Queue a connection event. The next commit includes its effects."""
        self._events.append(event)
        self._changed.set()

    def wake(self) -> None:
        """Request a commit soon, even if there is no new connection event."""
        self._changed.set()

    def hurry(self) -> None:
        """Start the next commit without waiting for `commit_delay_seconds`."""
        self._urgent.set()

    async def wait_until_durable(self) -> None:
        """Wait until the effects of all earlier connection events are durable.

        When this method returns, the packets that depend on these effects have been sent. If the
        disk is full, received messages might still be waiting to be stored.
        """
        durable = self._durable
        self._changed.set()
        await asyncio.shield(durable)

    async def run(self) -> None:
        """Commit batches of changes until `stop` is called.

        Raises:
            QueueError: if the disk failed. The program can be restarted without losing messages,
                because only durable messages were acknowledged.
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
        """Close the database. If a commit is running in the worker thread, wait for it first."""
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
        """Commit a batch of changes, and then send the packets that depend on it.

        Return True, or False if the program is stopped while the disk is full. In the second case,
        no packets are sent.
        """
        self._changed.clear()
        self._urgent.clear()
        durable, self._durable = self._durable, asyncio.get_running_loop().create_future()
        events, self._events = self._events, []
        self._process(events)
        if not await self._write():
            return False
        self._send()
        durable.set_result(None)
        return True

    async def _write(self) -> bool:
        """Commit the pending changes and, if the disk has room, new messages.

        Return False if the program is stopped while the disk is too full even for the pending
        changes. Otherwise return True.
        """
        if self.disk_full or self.has_arrivals:
            self._note_disk(has_room=self._database.space.has_room())
        while self._is_due(planned=self._plan(takes_arrivals=not self.disk_full)):
            self._database.begin()
            for queue in self.queues:
                if queue.settlement.session is not None:
                    self._database.set_property(queue.session_key, queue.settlement.session)
                queue.write_changes()
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
        """Return True if a commit is necessary now.

        The argument `planned` is the result of `_plan`. If the only change is the removal of
        delivered messages, the commit can be delayed.
        """
        return planned or any(
            each.settlement.needs_commit
            or each.can_start
            or (each.to_remove and self._removals_due)
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
        if self._removal_timer is None and any(each.to_remove for each in self.queues):
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
