"""Commits the uplink's changes: received packets become durable before they are acknowledged.

The base class `QueueCommitter` defines what must be durable before a message is sent. For received
messages, the uplink sends a response only after a commit:

| response | sent after the commit of |
|---|---|
| PUBREC, PUBACK | the message, and at QoS 2 its packet identifier |
| PUBCOMP | the removal of the packet identifier |
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from gateway.process.durable_queue.committer import QueueCommitter
from gateway.process.files.queue_database import CommitThread
from gateway.uplink.lane import Lane
from gateway.uplink.reception import Arrival, Reception
from gateway.uplink.recovery import NAMES
from gateway.uplink.routes import Side
from gateway.uplink.settlement import ConnectionEvent, Settlement
from gateway.uplink.store import UplinkStore

logger = logging.getLogger(__name__)

REFUSED_PAUSE_SECONDS: Final = 5.0
"""Seconds until messages are sent again after a broker has temporarily refused one."""
UNCOMMITTED_EVENTS_MAX: Final = 200_000
"""Maximum number of packets that wait for a batch: one per packet identifier on both sides, and
some more, because commits may take long.
"""
CLOCK_SECONDS: Final = 1.0
"""Seconds between two records of the uplink's clock.

A power cut sets the clock back by at most this time.
"""


class Committer(QueueCommitter[ConnectionEvent]):
    """Commits all changes to the uplink's database, and then sends the packets that depend on them.

    While it runs, no other code writes to the database.
    """

    def __init__(self, store: UplinkStore, *, queue_bytes_max: int) -> None:
        super().__init__(store, CommitThread(store, "uplink-commit"), NAMES)
        self._store = store
        self._clock_base = float(store.property("clock") or 0.0) - time.monotonic()
        self._clock_saved = self.now
        self.lanes = {side: Lane(store, side, bytes_max=queue_bytes_max) for side in Side}
        self.queues = tuple(self.lanes.values())
        self.receptions = {side: Reception(store.received(side)) for side in Side}
        self._settlement = Settlement(self.lanes, self.receptions)
        self._taken: dict[Side, list[Arrival]] = {side: [] for side in Side}
        """Messages that the next commit stores, keyed by the side that they came from."""
        self.sessions = {
            side: store.property(lane.session_key) or None for side, lane in self.lanes.items()
        }
        """The names of our sessions at both brokers, or None for no session."""
        self.subscriptions = {
            side: store.property(_subscriptions_key(side)) or "{}" for side in Side
        }
        """The subscriptions of our sessions at both brokers, as JSON."""

    @property
    def now(self) -> float:
        """The current time of the uplink's own clock, in seconds.

        The clock stops while the uplink is not running.
        """
        return self._clock_base + time.monotonic()

    @property
    def has_arrivals(self) -> bool:
        """True if received messages are waiting to be stored."""
        return any(each.arrivals for each in self.receptions.values())

    @property
    def is_flooded(self) -> bool:
        """True if too many received packets are waiting for a commit.

        A broker that waits for responses, as MQTT requires, never reaches this limit.
        """
        return len(self._events) > UNCOMMITTED_EVENTS_MAX

    def status(self) -> dict[str, object]:
        """Return the status report's data about both message directions and the disk."""
        return {
            "out": self.lanes[Side.REMOTE].status(),
            "in": self.lanes[Side.LOCAL].status(),
            "disk_full": self.disk_full,
        }

    # One batch

    def _process(self, events: Sequence[ConnectionEvent]) -> None:
        self._settlement = settlement = Settlement(self.lanes, self.receptions)
        for event in events:
            settlement.apply(event)
        self._apply(settlement)

    def _plan(self, *, takes_arrivals: bool) -> bool:
        is_due = False
        for source, reception in self.receptions.items():
            lane = self.lanes[source.other]
            fitting = reception.fitting(lane.room_bytes, is_empty=lane.is_empty)
            self._taken[source] = fitting if takes_arrivals else []
            # Received messages may wait for the room of messages that are complete.
            is_due |= bool(self._taken[source] or (reception.arrivals and lane.to_remove))
        return is_due

    def _write_rows(self) -> None:
        for side, changes in self._settlement.changes.items():
            if changes.subscriptions is not None:
                self._store.set_property(_subscriptions_key(side), changes.subscriptions)
            if changes.forgets_received:
                self._store.free_received(side, None)
            self._store.free_received(side, changes.freed)
        for source, taken in self._taken.items():
            self.lanes[source.other].store([each.message for each in taken])
            received = [each.packet_id for each in taken if each.message.qos == 2]
            self._store.note_received(source, received)
        for lane in self.lanes.values():
            lane.start_sending(self.now)
        if self.now - self._clock_saved >= CLOCK_SECONDS:
            self._clock_saved = self.now
            self._store.set_property("clock", f"{self._clock_saved:.6f}")

    def _committed(self) -> bool:
        for side, taken in self._taken.items():
            self.receptions[side].stored(taken)
        # There may be room now for arrivals that did not fit before.
        return self.has_arrivals

    def _send(self) -> None:
        now = self.now
        for side, lane in self.lanes.items():
            outlet, changes = lane.outlet, self._settlement.changes[side]
            if outlet is None:
                continue
            changes.answers += [each.answer() for each in self._taken[side]]
            # These include messages that did not fit into the broker's window when gmqtt resent.
            packets = changes.packets(lane.started, partial(outlet.packet_of, now=now))
            if packets:
                outlet.send(b"".join(packets))

    # Bookkeeping

    def _report_disk(self) -> None:
        if self.disk_full:
            logger.error("the disk is full: messages wait at their brokers; free space")
        else:
            logger.info("the disk has room again: messages are taken")

    def _apply(self, settlement: Settlement) -> None:
        """Update the state in memory with the changes in `settlement`, and log refused messages."""
        for side in settlement.paused:
            self.lanes[side].pauses += 1
            loop = asyncio.get_running_loop()
            loop.call_later(REFUSED_PAUSE_SECONDS, self._end_pause, self.lanes[side])
        for side, topic, code in settlement.refusals:
            logger.warning(
                "the %s broker refused a message for %r with reason code 0x%02X: dropped",
                side.name.lower(),
                topic,
                code,
            )
        for side, changes in settlement.changes.items():
            self.lanes[side].apply(changes)
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

    def _end_pause(self, lane: Lane) -> None:
        lane.pauses -= 1
        self.wake()


def _subscriptions_key(side: Side) -> str:
    """Return the name of the database property for the subscriptions at the broker on `side`.

    The value of the property is JSON.
    """
    return f"subscriptions_{side.name.lower()}"
