"""State of a session (MQTT 3.1.1 section 4.1).

Changes that must survive a restart are applied by `gateway.broker.core.state` and recorded.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from gateway.broker.core.limits import FORWARDED_BYTES_MAX, QUEUED_BYTES, Limits
from gateway.broker.core.sessions.message import Delivery, Held, Will
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.sessions.packet_identifiers import PacketIdentifiers
from gateway.broker.core.sessions.share import Share
from gateway.broker.core.sessions.source import Source
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.when_full import WhenFull

if TYPE_CHECKING:
    from gateway.broker.core.sessions.connection import Connection

EXPIRY_NEVER: Final = 0xFFFF_FFFF
NO_TIMER: Final = float("inf")
NO_GROUPS: Final[frozenset[str]] = frozenset()


class Pace:
    """Measurement of the speed at which a client empties its queue while publishers wait."""

    def __init__(self) -> None:
        self.since = NO_TIMER
        """Time of the last measurement (monotonic seconds), or NO_TIMER if there was none."""
        self.position = 0
        """Queue position of the next message at the last measurement."""

    def begin(self, now: float, position: int) -> None:
        """Start a measurement at `now`. `position` is the queue position of the next message."""
        self.since = now
        self.position = position


class MemoryQueues:
    """All clean sessions. Their queues are kept in memory, and their total size is counted."""

    def __init__(self) -> None:
        self.bytes_count = 0
        self.sessions: dict[Session, None] = {}

    def largest(self) -> "Session | None":
        """Return the session with the largest queue in memory, or None if all are empty."""
        largest: Session | None = None
        most_bytes = 0
        for session in self.sessions:
            bytes_count = session.memory_bytes()
            if bytes_count > most_bytes:
                largest, most_bytes = session, bytes_count
        return largest


class Session:
    """A client's session. A `persistent` session outlives its connection and a power cut."""

    denials = 0
    """Number of denials by access rules since the broker's start."""
    owner: Owner | None = None
    """The owner's counters, or None if the session is not open."""
    is_local = False
    """True if the last connection since the broker's start was from this machine."""
    shares: tuple[Share, ...] = ()
    """Shared limits of the listener and address of the last connection since the start."""
    recheck_before = 0
    """Messages queued before this position are checked again, since permissions have changed."""
    opened_since_start = False
    """True if the session was opened since the broker's start, so all its usage is known."""

    certificate: str | None = None
    """The certificate that last authenticated its client, as in `Connection`."""
    is_revoked = False
    """True if its client's certificate was revoked. It gets no messages until a new login."""
    is_awaited = False
    """True if publishers wait for room in its queue, which refuses messages when full."""
    is_half_full = False
    """True if its queue is at least half full: see `rules.deliver.backpressure`."""
    slows = False
    """True if publishers wait until its queue is less than half full."""
    filling_noted = False
    """True if it was logged that its queue is nearly full."""
    slowing_noted = False
    """True if it was logged that its publishers wait."""
    acknowledged_at = -NO_TIMER
    """Time of its client's last acknowledgement on this connection (monotonic seconds)."""
    memory_queues: MemoryQueues | None = None
    """Totals of all clean sessions, including this one, or None if it is persistent."""
    source: Source | None = None
    """The client as publisher of its last retained message: see `fan_out.source_of`."""
    groups: frozenset[str] = NO_GROUPS
    """Groups from the client's last login since the broker's start."""

    def __init__(  # noqa: PLR0915 - an attribute each
        self, number: int, client_id: str, persistent: bool
    ) -> None:
        self.number = number
        self.client_id = client_id
        self.client_id_bytes = client_id.encode()
        self.persistent = persistent
        self.username: str | None = None
        """The user to whom the session belongs, or None if its client has no user."""
        self.listener = ""
        """Listener of the last connection since the broker's start."""
        self.protocol = 4
        self.expiry_seconds = EXPIRY_NEVER if persistent else 0
        """Session expiry interval in seconds, or EXPIRY_NEVER if it does not expire."""
        self.ended = False
        self.connection: Connection | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.keys: dict[int, Subscription] = {}
        """Subscriptions that are shared or have an identifier, by their key."""
        self.will: Will | None = None
        # Received and sent identifiers are separate and must never share a map.
        self.inbound: PacketIdentifiers[Held] = PacketIdentifiers()
        self.inbound_bytes = 0
        self.outbound: PacketIdentifiers[Delivery] = PacketIdentifiers()
        self.pubrecs = 0
        """Number of PUBRECs received. After a restart, only deliveries in flight are counted."""
        self.last_packet_id = 0
        self.unsent: deque[Delivery] = deque()
        """Deliveries in flight that are not resent yet, because the new window is smaller."""
        # The queue in order: `waiting`, then messages that are only on disk, then `recent`.
        self.waiting: deque[Delivery] = deque()
        self.stored_first = 0
        self.stored_count = 0
        self.recent: deque[Delivery] = deque()
        self.first_position = 0
        self.next_position = 0
        self.frozen_first = 0
        self.frozen_position = 0
        """`first_position` and `next_position` at the start of the last checkpoint."""
        self.queued_count = 0
        self.queued_bytes = 0
        self.when_full = WhenFull.SLOW
        self.pace = Pace()
        self.loading = False
        """True while messages are being loaded from disk. Until then, no delivery may start."""
        self.pages_requested = 0
        """Number of requests for pages. Only the last is used: the client may have reconnected."""
        self.named_in_batch = -1
        self.closed_ms = 0
        """Gateway time in milliseconds when its connection ended, or 0 while connected."""
        self.away_since = 0.0
        """The same as monotonic time in seconds, which all timers use."""
        self.overflow_noted = False
        self.expiry_timer_due = NO_TIMER
        """Time of the earliest timer for its expiry."""
        self.await_rel_scheduled = False
        self.dropped_messages = 0
        self.received_messages = 0
        self.delivered_messages = 0

    def set_shares(self, shares: tuple[Share, ...]) -> None:
        """Count the session against the limits in `shares` instead of the previous ones."""
        for share in self.shares:
            share.sessions -= 1
        self.shares = shares
        for share in shares:
            share.sessions += 1

    def has_room(self, limits: Limits, size_bytes: int) -> bool:
        """Return True if another message of this size may be queued without exceeding a limit."""
        return self.queued_count < limits.max_mqueue_len and self.has_bytes_left(limits, size_bytes)

    def has_bytes_left(self, limits: Limits, size_bytes: int) -> bool:
        """Return True if another message of this size would not exceed the queue's byte limits."""
        owner = self.owner
        return self.queued_bytes + size_bytes <= limits.max_mqueue_bytes and (
            owner is None or owner.queued_bytes + size_bytes <= owner.queued_bytes_max
        )

    def byte_limit_reached(self, limits: Limits, size_bytes: int) -> str:
        """Return the name of the byte limit that another message would exceed, or "" if none."""
        if self.queued_bytes + size_bytes > limits.max_mqueue_bytes:
            return "max_mqueue_bytes"
        owner = self.owner
        if owner is not None and owner.queued_bytes + size_bytes > owner.queued_bytes_max:
            return owner.name_of("queued_bytes")
        return ""

    def is_unused(self) -> bool:
        """Return True if the session was never used, so deleting it loses nothing."""
        return (
            self.opened_since_start
            and not self.received_messages
            and not self.delivered_messages
            and not self.subscriptions
            and not self.next_position
            and self.will is None
        )

    def can_send_immediately(self, connection: "Connection", limits: Limits, qos: int) -> bool:
        """Return True if a message can be sent immediately, without waiting in the queue."""
        if not qos:
            waits = self.queued_count > 0 and self.persistent and limits.mqueue_store_qos0
            return (
                not waits
                and connection.writable
                and connection.forwarded_bytes <= FORWARDED_BYTES_MAX
            )
        return (
            connection.writable
            and not self.queued_count
            and not self.loading
            and not self.unsent
            and len(self.outbound) < connection.window_of(limits)
        )

    def enqueue(self, delivery: Delivery, size_bytes: int) -> None:
        """Append a delivery to the queue."""
        if self.stored_count or self.recent:
            self.recent.append(delivery)
        else:
            self.waiting.append(delivery)
        self.queued_count += 1
        self.queued_bytes += size_bytes
        if self.memory_queues is not None:
            self.memory_queues.bytes_count += QUEUED_BYTES + size_bytes
        owner = self.owner
        if owner is not None:
            owner.queued_bytes += size_bytes

    def front(self) -> Delivery | None:
        """Return the first delivery, or None if it is only on disk or the queue is empty."""
        if not self.waiting and not self.stored_count and self.recent:
            self.waiting, self.recent = self.recent, self.waiting
        return self.waiting[0] if self.waiting else None

    def consume(self, position: int) -> None:
        """Remove all deliveries up to and including queue position `position` from the queue."""
        while self.waiting and self.waiting[0].position <= position:
            delivery = self.waiting.popleft()
            self._taken(delivery)
        if self.stored_count and self.stored_first <= position:
            count = min(position + 1 - self.stored_first, self.stored_count)
            self.stored_first += count
            self.stored_count -= count
            self.queued_count -= count
        if not self.stored_count:
            self.front()
            if self.waiting and self.waiting[0].position <= position:
                self.consume(position)
        if position >= self.first_position:
            self.first_position = position + 1

    def _taken(self, delivery: Delivery) -> None:
        """Update the counters after a delivery in memory has been removed from the queue."""
        self.queued_count -= 1
        if delivery.message is None:
            return
        size_bytes = delivery.message.size_bytes()
        self.queued_bytes -= size_bytes
        if self.memory_queues is not None:
            self.memory_queues.bytes_count -= QUEUED_BYTES + size_bytes
        owner = self.owner
        if owner is not None:
            owner.queued_bytes -= size_bytes

    def take_newest(self) -> Delivery:
        """Remove and return the newest delivery of a clean session's non-empty queue."""
        delivery = (self.recent or self.waiting).pop()
        self._taken(delivery)
        return delivery

    def memory_bytes(self) -> int:
        """Return the memory size of a clean session's queue in bytes."""
        return self.queued_bytes + QUEUED_BYTES * self.queued_count

    def evict(self, keep: int) -> None:
        """Free the memory of queued deliveries that are also on disk, except the first `keep`."""
        waiting = self.waiting
        if not self.stored_count and not self.recent:
            if len(waiting) <= keep or waiting[keep].position >= self.frozen_position:
                return
            while len(waiting) > keep:
                self.recent.appendleft(waiting.pop())
            self.stored_first = self.recent[0].position
        while self.recent and self.recent[0].position < self.frozen_position:
            self.recent.popleft()
            self.stored_count += 1

    def free_packet_id(self) -> int:
        """Return an unused packet identifier, or 0 if all identifiers are in use [MQTT-2.3.1-2]."""
        if len(self.outbound) >= 65_535:
            return 0
        packet_id = self.last_packet_id
        while True:
            packet_id = packet_id + 1 if packet_id < 65_535 else 1
            if self.outbound.get(packet_id) is None:
                self.last_packet_id = packet_id
                return packet_id
