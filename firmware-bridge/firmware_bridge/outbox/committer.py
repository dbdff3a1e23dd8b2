"""Commits the outbox's readings, and the state of exchanges with the broker, batch by batch.

The base class `QueueCommitter` defines what must be durable before a packet is sent.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence

from firmware_bridge.outbox.ageing import Ageing
from firmware_bridge.outbox.arrivals import Arrivals, Batch, bytes_of, count_of
from firmware_bridge.outbox.boards import Boards
from firmware_bridge.outbox.capacity import Capacity
from firmware_bridge.outbox.delivery_times import DeliveryTimes
from firmware_bridge.outbox.reading_dropper import Dropped, ReadingDropper
from firmware_bridge.outbox.recovery import NAMES
from firmware_bridge.outbox.session import Session
from firmware_bridge.outbox.settlement import ConnectionEvent, Settlement
from firmware_bridge.outbox.store import OutboxStore
from gateway.process.durable_queue.broker_queue import BrokerQueue
from gateway.process.durable_queue.committer import QueueCommitter
from gateway.process.files.queue_database import CommitThread, NoRoom
from gateway.process.mqtt_client.exchanges import Exchanges

logger = logging.getLogger(__name__)


class Committer(QueueCommitter[ConnectionEvent]):
    """The committer of the outbox. While it runs, no other code writes to the outbox's database."""

    def __init__(
        self,
        store: OutboxStore,
        *,
        window: int,
        bytes_max: int,
        age_max_seconds: float | None,
        commit_delay_seconds: float,
    ) -> None:
        self.start_number = _count_start(store)
        commits = CommitThread(store, "outbox-commit")
        super().__init__(store, commits, NAMES, commit_delay_seconds=commit_delay_seconds)
        self._store = store
        self.bytes_max = bytes_max
        self.arrivals = Arrivals(Boards(store.boards()))
        self._window = window
        self.queue = BrokerQueue(store.readings, Exchanges(), session_key="session")
        self.queues = (self.queue,)
        self.capacity = Capacity(bytes_max)
        self.session = Session(store)
        self._settlement = Settlement(self.queue.exchanges, None)
        self._batches: list[Batch] = []
        """The batches of readings that the current commit stores."""
        self._dropped = Dropped([], Counter())
        ageing = Ageing(store.readings.last_arrived(), age_max_seconds)
        self.reading_dropper = ReadingDropper(store.readings, bytes_max, ageing, self.wake)
        self._empty = asyncio.Event()
        self.delivery_times = DeliveryTimes()
        self._update_room()

    # Methods for the outbox

    def note_arrival(self) -> None:
        """Wake the committer after readings were added to `arrivals`.

        Commit without delay if the bridge is connected, and more readings are waiting than it may
        publish now. The setting `window` limits the number of unacknowledged readings.
        """
        waiting = self.queue.waiting + self.arrivals.gathered_count
        if self._settlement.send is not None and waiting > self.queue.exchanges.free:
            self.hurry()  # more readings than fit into the window
        self._update_room()
        self.wake()

    def add_event(self, event: ConnectionEvent) -> None:
        """Queue an event from the MQTT client, such as a PUBREC, for the next commit."""
        super().add_event(event)
        if self.queue.waiting:
            self.hurry()  # a completed exchange makes room in the window

    @property
    def has_arrivals(self) -> bool:
        """True if readings are waiting to be stored."""
        return bool(self.arrivals.sealed)

    @property
    def bytes_held(self) -> int:
        """The total size in bytes of all readings, in memory and on disk."""
        return self.queue.bytes_held + self.arrivals.bytes_count

    async def wait_until_empty(self) -> None:
        """Stop delaying commits, and wait until all readings are published."""
        self._commit_delay_seconds = 0.0
        self.hurry()
        await self._empty.wait()

    async def close(self) -> None:
        """Close the store. If a COMMIT is running in the worker thread, wait for it first."""
        await super().close()
        self.reading_dropper.cancel()

    # One batch

    async def _commit_batch(self) -> bool:
        sealed = self.arrivals.seal()
        if not await super()._commit_batch():
            return False
        self.arrivals.complete_empty(sealed)
        ageing = self.reading_dropper.ageing
        if ageing.age_max_seconds is not None:
            # This query runs between two commits, because it would wait for a running commit.
            ageing.oldest = self._store.readings.arrival_after(self.queue.last_started)
        self._update_room()
        self._update_empty()
        return True

    def _process(self, events: Sequence[ConnectionEvent]) -> None:
        settlement = Settlement(self.queue.exchanges, self._settlement.send)
        for event in events:
            settlement.apply(event)
        settlement.session = self.session.take_unwritten()
        self._settlement = settlement
        # Without a connection, no exchange starts.
        self.queue.exchanges.window = self._window if settlement.send is not None else 0
        self.queue.apply(settlement)
        self.delivery_times.completed(settlement.completed)
        if settlement.returned:
            # The broker has lost our exchanges, but their readings must still be delivered.
            logger.warning(
                "the broker has lost our session: %d readings in flight are published again",
                len(settlement.returned),
            )
            self.reading_dropper.returned(settlement.returned)

    def _plan(self, *, takes_arrivals: bool) -> bool:
        self._batches = list(self.arrivals.sealed) if takes_arrivals else []
        return bool(self._batches) or self.reading_dropper.due

    def _write_rows(self) -> None:
        for each in self._batches:
            self._store.readings.insert(each.publications, self.reading_dropper.ageing.now())
            self._store.save_boards(each.boards)
            if each.kinds:
                self._store.save_kinds(each.kinds)
        queue, waiting = self.queue, self.queue.waiting + count_of(self._batches)
        queue.start(min(queue.exchanges.free, waiting))
        bytes_after = queue.bytes_held + bytes_of(self._batches) - queue.bytes_to_remove
        self._dropped = self.reading_dropper.drop(bytes_after, queue.last_started)

    def _committed(self) -> bool:
        batches, dropped = self._batches, self._dropped
        self.queue.add(count_of(batches), bytes_of(batches))
        self.queue.add(-len(dropped.rows), -sum(row.bytes_count for row in dropped.rows))
        self.reading_dropper.removable_bytes += sum(each.removable_bytes for each in batches)
        self.reading_dropper.started(self.queue.started)
        self.reading_dropper.committed(dropped, self.queue.bytes_held)
        self.delivery_times.committed(batches, self._store.readings.last_number)
        self.arrivals.committed(batches)
        return False

    def _send(self) -> None:
        self._settlement.send_durable(self.queue.started)

    # Bookkeeping

    def _report_disk(self) -> None:
        self.capacity.note_disk(has_room=not self.disk_full)

    def _update_room(self) -> None:
        removable = self.reading_dropper.removable_bytes + self.arrivals.removable_bytes
        oldest_is_old = self.reading_dropper.ageing.oldest_is_old
        self.capacity.update(self.bytes_held - removable, oldest_is_old=oldest_is_old)

    def _update_empty(self) -> None:
        if self.queue.waiting or self.arrivals.count or len(self.queue.exchanges):
            self._empty.clear()
        else:
            self._empty.set()


def _count_start(store: OutboxStore) -> int:
    """Increment the stored count of the bridge's starts, and return it."""
    number = int(store.property("starts") or 0) + 1
    store.begin()
    store.set_property("starts", str(number))
    try:
        store.commit()
    except NoRoom:
        store.close()
        raise
    return number
