"""Commits: what has arrived and what the broker has sent becomes durable, batch by batch.

The durability argument is one method, `_commit_batch`: everything that came while the disk was
busy, or during `commit_delay`, becomes one transaction, and what depends on it is sent only after
its fsync.

| sent | after this is durable |
|---|---|
| acknowledgement to a board | its readings, and that its frame was accepted |
| PUBLISH | the reading with its packet identifier |
| PUBREL | that PUBREC came |
| nothing waits for | the removal at PUBCOMP: it goes with the next batch |
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Sequence

from firmware_bridge.outbox.ageing import Ageing
from firmware_bridge.outbox.arrivals import Arrivals, Batch, count_of
from firmware_bridge.outbox.boards import Boards
from firmware_bridge.outbox.capacity import Capacity
from firmware_bridge.outbox.delivery_times import DeliveryTimes
from firmware_bridge.outbox.giving_way import Dropped, GivingWay
from firmware_bridge.outbox.queue import Queue
from firmware_bridge.outbox.recovery import NAMES
from firmware_bridge.outbox.removals import Removals
from firmware_bridge.outbox.session import Session
from firmware_bridge.outbox.settlement import Send, Settlement, Signal
from firmware_bridge.outbox.store import OutboxStore, bytes_of
from firmware_bridge.readings.publications import Publication
from gateway.process.files.queue_database import CommitThread, NoRoom
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges

logger = logging.getLogger(__name__)

# Between two attempts on a full disk.
NO_ROOM_SECONDS = 0.5


class Committer:
    """The one writer of an outbox's store, and what its transactions are made of.

    `published`, `republished` and `unexpected_pubcomps` count readings since this start.
    """

    def __init__(
        self,
        store: OutboxStore,
        *,
        window: int,
        bytes_max: int,
        age_max_seconds: float | None,
        commit_delay_seconds: float,
    ) -> None:
        self._store = store
        self._commit_delay_seconds = commit_delay_seconds
        self.bytes_max = bytes_max
        self.commits = CommitThread(store, "outbox-commit")
        self.arrivals = Arrivals(Boards(store.boards()))
        self.exchanges: Exchanges[Publication] = Exchanges(window)
        self.exchanges.resume(store.in_flight())
        self.queue = Queue(store, self.exchanges)
        self.capacity = Capacity(bytes_max, store.bytes)
        self.session = Session(store)
        self._signals: list[Signal] = []
        self._send: Send | None = None
        self._changed = asyncio.Event()
        self._removals = Removals(self._changed.set)
        self.ageing = Ageing(store.last_arrived, age_max_seconds)
        self.giving_way = GivingWay(store, bytes_max, self.ageing, self._changed.set)
        self._urgent = asyncio.Event()
        """Set: the commit does not wait for more."""
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when what the broker has sent so far is durable; readings may still wait."""
        self._empty = asyncio.Event()
        self._stopping = False
        self.delivery_times = DeliveryTimes()
        self.published = 0
        self.republished = 0
        self.unexpected_pubcomps = 0
        self.start_number = self._count_start()
        store.space.make_reserve()
        self._update_room()

    # What the outbox does

    def hurry(self) -> None:
        """Wait for nothing more: what has come is the next batch."""
        self._urgent.set()

    def note_arrival(self) -> None:
        """Commit what has been added to `arrivals`, when the batch is due."""
        waiting = self.queue.waiting + self.arrivals.gathered_count
        if self._send is not None and waiting > self.exchanges.free:
            self._urgent.set()  # more than can be published together
        self._update_room()
        self._changed.set()

    def signal(self, signal: Signal) -> None:
        """Settle with the next batch what the MQTT client received."""
        self._signals.append(signal)
        if self.queue.waiting:
            self._urgent.set()  # for its place in the window
        self._changed.set()

    def wake(self) -> None:
        """Commit also where nothing has come: waiting futures are completed."""
        self._changed.set()

    @property
    def bytes_held(self) -> int:
        """Bytes of the readings on disk and on their way there."""
        return self.capacity.stored_bytes + self.arrivals.bytes_count

    async def run(self) -> None:
        """Commit batches until `stop`.

        Raises:
            QueueError: the disk refuses; nothing untrue has been sent, so that a restart is safe.
        """
        try:
            stopping = False
            while not stopping:
                await self._changed.wait()
                await self._gather()
                stopping = self._stopping
                await self._commit_batch()
        except sqlite3.Error as error:
            raise NAMES.cannot_write(self._store.path, error) from error

    def stop(self) -> None:
        """Make `run` commit the remaining readings and return."""
        self._stopping = self._removals.due = True
        self._urgent.set()
        self._changed.set()

    async def wait_until_empty(self) -> None:
        """Prepare for the end: from now on no commit waits for more."""
        self._commit_delay_seconds = 0.0
        self._urgent.set()
        await self._empty.wait()

    async def close(self) -> None:
        """Close the store, behind a COMMIT that may still run in the one worker thread."""
        await self.commits.close()
        self._removals.cancel()
        self.giving_way.cancel()

    # One batch

    async def _gather(self) -> None:
        """Wait for more to commit, as long as nothing is urgent."""
        if self._commit_delay_seconds and not self.capacity.disk_full:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._commit_delay_seconds):
                    await self._urgent.wait()

    async def _commit_batch(self) -> None:
        self._changed.clear()
        self._urgent.clear()
        settled, self.settled = self.settled, asyncio.get_running_loop().create_future()
        batch = self.arrivals.seal()
        settlement = Settlement(self.exchanges, self._send)
        for signal in self._signals:
            settlement.settle(signal)
        self._signals = []
        self._apply(settlement)
        started = await self._write(settlement, self.session.take_unwritten())
        if started is None:
            return  # the end came while the disk was full: nothing may be sent
        settlement.send_durable(started)
        settled.set_result(None)
        self.arrivals.complete_empty(batch)
        self._update_oldest()
        self._update_room()
        self._update_empty()

    async def _write(
        self, settlement: Settlement, session: str | None
    ) -> list[Exchange[Publication]] | None:
        """Commit what the broker has sent and, where there is room, what ports have brought.

        Returns what may be sent for the first time. None: there is no room even for what the
        broker has sent, and the bridge is about to stop.
        """
        if self.arrivals.sealed or self.capacity.disk_full:
            self._note_disk(has_room=self._store.space.has_room())
        while True:
            batches = [] if self.capacity.disk_full else list(self.arrivals.sealed)
            due = session is not None or self._removals.due or self.giving_way.due
            starts = self._starts_wanted(batches)
            if not (batches or settlement.needs_commit or starts or due):
                self._removals.postpone()
                return []
            self._store.begin()
            self._write_settled(settlement, session)
            for each in batches:
                self._store.insert(each.publications, self.ageing.now())
                self._store.save_boards(each.boards)
                if each.kinds:
                    self._store.save_kinds(each.kinds)
            started = self.queue.start(starts)
            dropped = self.giving_way.drop(self._bytes_after(batches), self.queue.last_started)
            if await self.commits.commit():
                self._committed(batches, started, dropped)
                return started
            self.queue.take_back(started)
            self._note_disk(has_room=False)
            if not batches:
                if self._stopping:
                    return None
                await asyncio.sleep(NO_ROOM_SECONDS)

    def _starts_wanted(self, batches: Sequence[Batch]) -> int:
        if self._send is None:
            return 0
        return min(self.exchanges.free, self.queue.waiting + count_of(batches))

    def _write_settled(self, settlement: Settlement, session: str | None) -> None:
        if session is not None:
            self._store.set_property("session", session)
        self._store.remove(self._removals.exchanges)
        self._store.return_to_queue(settlement.returned)
        self._store.release(settlement.released)

    def _bytes_after(self, batches: Sequence[Batch]) -> int:
        """Return the bytes on disk after this commit, where it drops no reading."""
        gone = sum(bytes_of(each.message) for each in self._removals.exchanges)
        return self.capacity.stored_bytes + sum(each.bytes_count for each in batches) - gone

    def _committed(
        self, batches: Sequence[Batch], started: Sequence[Exchange[Publication]], dropped: Dropped
    ) -> None:
        self.queue.waiting += count_of(batches) - len(dropped.rows)
        stored_bytes = self._bytes_after(batches) - sum(row.bytes_count for row in dropped.rows)
        self.capacity.stored_bytes = stored_bytes
        self.giving_way.removable_bytes += sum(each.removable_bytes for each in batches)
        self.giving_way.started(started)
        self.giving_way.committed(dropped, stored_bytes)
        self.delivery_times.committed(batches, self._store.last_number)
        self.arrivals.committed(batches)
        self._removals.committed()

    def _apply(self, settlement: Settlement) -> None:
        self._send = settlement.send
        self._removals.add(settlement.completed)
        self.delivery_times.completed(settlement.completed)
        self.published += len(settlement.completed)
        self.unexpected_pubcomps += settlement.unexpected_pubcomps
        if settlement.returned:
            # The broker has none of our exchanges; the readings are still ours to deliver.
            logger.warning(
                "the broker has lost our session: %d readings in flight are published again",
                len(settlement.returned),
            )
            self.queue.put_back(settlement.returned)
            self.giving_way.returned(settlement.returned)
            self.republished += len(settlement.returned)

    # Bookkeeping

    def _count_start(self) -> int:
        number = int(self._store.property("starts") or 0) + 1
        self._store.begin()
        self._store.set_property("starts", str(number))
        try:
            self._store.commit()
        except NoRoom:
            self._store.close()
            raise
        return number

    def _note_disk(self, *, has_room: bool) -> None:
        if not has_room:
            loop = asyncio.get_running_loop()
            loop.call_later(NO_ROOM_SECONDS, self._changed.set)
        if self.capacity.note_disk(has_room=has_room) and has_room:
            self._store.space.make_reserve()

    def _update_room(self) -> None:
        removable = self.giving_way.removable_bytes + self.arrivals.removable_bytes
        self.capacity.update(self.bytes_held - removable, oldest_is_old=self.ageing.oldest_is_old)

    def _update_oldest(self) -> None:
        """Look between two commits: a query would wait for one that is under way."""
        if self.ageing.age_max_seconds is not None:
            self.ageing.oldest = self._store.arrival_after(self.queue.last_started)

    def _update_empty(self) -> None:
        if self.queue.waiting or self.arrivals.count or len(self.exchanges):
            self._empty.clear()
        else:
            self._empty.set()
