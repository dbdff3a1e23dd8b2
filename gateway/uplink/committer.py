"""Commits of the uplink: what a broker has sent becomes durable before it is answered.

The durability guarantee is in one method, `_commit_batch`: everything that arrived from both sides
while the disk was busy becomes one transaction with one fsync, and dependent packets are sent
afterwards.

| sent | after this is durable |
|---|---|
| PUBREC, PUBACK to the sending side | the message, and at QoS 2 its packet identifier |
| PUBCOMP to that side | that the packet identifier is free again |
| PUBLISH to the other side | the message with the packet identifier it is sent under |
| PUBREL to that side | that PUBREC was received |
| (no packet) | the deletion after PUBCOMP or PUBACK, which joins the next batch |
"""

import asyncio
import logging
import sqlite3
import time
from typing import Final

from gateway.process.files.queue_database import CommitThread
from gateway.uplink.batch import Batch, session_key, subscriptions_key
from gateway.uplink.lane import Lane
from gateway.uplink.reception import Reception
from gateway.uplink.recovery import NAMES
from gateway.uplink.routes import Side
from gateway.uplink.settlement import Settlement, Signal
from gateway.uplink.store import UplinkStore

logger = logging.getLogger(__name__)

NO_ROOM_SECONDS: Final = 0.5
"""Wait between two attempts on a full disk."""
REFUSED_PAUSE_SECONDS: Final = 5.0
"""Wait before a message is sent again that a broker has refused for the moment."""
SIGNALS_MAX: Final = 200_000
"""Packets that wait for a batch: one per identifier on both sides, and some more; commits may take
long."""
CLOCK_SECONDS: Final = 1.0
"""Seconds between two records of the uplink's clock: a power cut sets it back by up to this
much."""
REMOVAL_SECONDS_MAX: Final = 1.0
"""How long a removal that nothing waits for may wait for others."""


class Committer:
    """The only writer of the uplink's store."""

    def __init__(self, store: UplinkStore, *, queue_bytes_max: int) -> None:
        self._store = store
        self.commits = CommitThread(store, "uplink-commit")
        self.lanes = {side: Lane(store, side, bytes_max=queue_bytes_max) for side in Side}
        self.receptions = {side: Reception(store.received(side)) for side in Side}
        self._signals: list[Signal] = []
        self._changed = asyncio.Event()
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopping = False
        self._clock_base = float(store.property("clock") or 0.0) - time.monotonic()
        self._clock_saved = self.now
        self._removal_timer: asyncio.TimerHandle | None = None
        self._removal_due = False
        self.disk_full = False
        self.sessions = {side: store.property(session_key(side)) or None for side in Side}
        """The names of our sessions at both brokers."""
        self.subscriptions = {
            side: store.property(subscriptions_key(side)) or "{}" for side in Side
        }
        """The subscriptions of those sessions, as JSON."""
        store.space.make_reserve()

    @property
    def now(self) -> float:
        """Seconds of the uplink's clock, which continues from the last run."""
        return self._clock_base + time.monotonic()

    @property
    def is_flooded(self) -> bool:
        """True if more signals arrived since the last batch than a broker sends that waits for
        answers.
        """
        return len(self._signals) > SIGNALS_MAX

    def signal(self, signal: Signal) -> None:
        """Queue a connection's signal for the next commit."""
        self._signals.append(signal)
        self._changed.set()

    async def settle(self) -> None:
        """Wait until everything signalled before this call is durable and answered."""
        settled = self._settled
        self._changed.set()
        await asyncio.shield(settled)

    def status(self) -> dict[str, object]:
        """Return the status of both directions."""
        return {
            "out": self.lanes[Side.REMOTE].status(),
            "in": self.lanes[Side.LOCAL].status(),
            "disk_full": self.disk_full,
        }

    async def run(self) -> None:
        """Commit batches until `stop`.

        Raises:
            QueueError: the disk failed. Nothing untrue has been sent, so a restart is safe.
        """
        try:
            stopping = False
            while not stopping:
                await self._changed.wait()
                stopping = self._stopping
                await self._commit_batch()
        except sqlite3.Error as error:
            raise NAMES.cannot_write(self._store.path, error) from error

    def stop(self) -> None:
        """Ask `run` to commit the rest and return."""
        self._stopping = self._removal_due = True
        self._changed.set()

    async def close(self) -> None:
        """Close the store, after a COMMIT that may be running in the worker thread."""
        await self.commits.close()
        if self._removal_timer is not None:
            self._removal_timer.cancel()

    # One batch

    async def _commit_batch(self) -> None:
        self._changed.clear()
        settled, self._settled = self._settled, asyncio.get_running_loop().create_future()
        settlement = Settlement(self.lanes, self.receptions)
        signals, self._signals = self._signals, []
        for signal in signals:
            settlement.settle(signal)
        self._take_up(settlement)
        batch = Batch(self._store, self.lanes, self.receptions, settlement)
        if not await self._write(batch):
            return  # the end came while the disk was full: nothing may be sent
        batch.send(self.now)
        settled.set_result(None)

    async def _write(self, batch: Batch) -> bool:
        """Commit the pending changes and, if there is room, new messages.

        Return False if there is not even room for the changes and the uplink is about to stop.
        """
        if self.disk_full or any(each.arrivals for each in self.receptions.values()):
            self._note_disk(has_room=self._store.space.has_room())
        while True:
            self._store.begin()
            batch.write(
                takes_arrivals=not self.disk_full,
                now=self.now,
                loop_seconds=asyncio.get_running_loop().time(),
            )
            if not batch.is_due(removal_due=self._removal_due):
                self._store.roll_back()
                self._postpone_removal()
                return True
            self._save_clock()
            if await self.commits.commit():
                if batch.committed():
                    self._changed.set()
                self._note_removal()
                return True
            had_arrivals = batch.has_arrivals
            batch.take_back()
            self._note_disk(has_room=False)
            if not had_arrivals:
                if self._stopping:
                    return False
                await asyncio.sleep(NO_ROOM_SECONDS)

    # Bookkeeping

    def _save_clock(self) -> None:
        if self.now - self._clock_saved >= CLOCK_SECONDS:
            self._clock_saved = self.now
            self._store.set_property("clock", f"{self._clock_saved:.6f}")

    def _note_removal(self) -> None:
        self._removal_due = False
        if self._removal_timer is not None:
            self._removal_timer.cancel()
            self._removal_timer = None

    def _postpone_removal(self) -> None:
        if self._removal_timer is None and any(lane.gone for lane in self.lanes.values()):
            loop = asyncio.get_running_loop()
            self._removal_timer = loop.call_later(REMOVAL_SECONDS_MAX, self._hurry_removal)

    def _hurry_removal(self) -> None:
        self._removal_timer = None
        self._removal_due = True
        self._changed.set()

    def _note_disk(self, *, has_room: bool) -> None:
        if not has_room:
            asyncio.get_running_loop().call_later(NO_ROOM_SECONDS, self._changed.set)
        if has_room == self.disk_full:
            self.disk_full = not has_room
            if has_room:
                self._store.space.make_reserve()
                logger.info("the disk has room again: messages are taken")
            else:
                logger.error("the disk is full: messages wait at their brokers; free space")

    def _take_up(self, settlement: Settlement) -> None:
        """Apply and log the results that do not concern rows."""
        loop = asyncio.get_running_loop()
        for side in settlement.paused:
            self.lanes[side].paused_until = loop.time() + REFUSED_PAUSE_SECONDS
            loop.call_later(REFUSED_PAUSE_SECONDS, self._changed.set)
        for side, topic, code in settlement.refusals:
            logger.warning(
                "the %s broker refused a message for %r with reason code 0x%02X: dropped",
                side.name.lower(),
                topic,
                code,
            )
        for side, changes in settlement.changes.items():
            if changes.session is not None:
                self.sessions[side] = changes.session or None
            if changes.subscriptions is not None:
                self.subscriptions[side] = changes.subscriptions
            if changes.forgets_received and changes.returned:
                logger.warning(
                    "the %s broker has lost our session: %d messages in flight are sent again",
                    side.name.lower(),
                    len(changes.returned),
                )
