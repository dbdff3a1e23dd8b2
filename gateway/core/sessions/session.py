"""What a session and a connection consist of (MQTT 3.1.1 section 4.1), as plain records.

Only `state` changes sessions, and only through facts. A connection is what the session has while
its client is there; it owns the bytes that wait to be sent.
"""

from collections import deque
from typing import Final
from zlib import crc32

from mypy_extensions import mypyc_attr

from gateway.core.limits import FORWARDED_BYTES_MAX, Limits
from gateway.core.memory import text_bytes_of
from gateway.core.sessions.packet_buffer import PacketBuffer
from gateway.wire.decoder import Decoder
from gateway.wire.packets import Connect, Packet, Publish
from gateway.wire.topics import is_shared_filter, validate_shared_filter

WAITING: Final = 0
SENT: Final = 1
RECEIVED: Final = 2
DONE: Final = 3
EXPIRY_NEVER: Final = 0xFFFF_FFFF
NO_TIMER: Final = float("inf")

# The flags of a delivery, in its row as well: QoS in bits 0 and 1, then these.
QOS: Final = 3
RETAIN: Final = 4
SHARED: Final = 8
"""It came through a shared subscription: another member may have it if this one goes."""
THROUGH_ONE: Final = 16
"""It came through one subscription, shared or replaying what is retained, whose key follows."""
KEY_SHIFT: Final = 8

# The flags of a message: QoS and RETAIN as above, and
HAS_PLACE: Final = 8

STATE_NAMES: Final = ("waiting", "awaiting_acknowledgement", "awaiting_pubcomp", "done")


MESSAGE_BYTES: Final = 512
"""What a message costs beside its bytes: itself, its four byte and character strings, its number,
and its place among the retained ones. Measured with the compiled core: 460."""


def retained_bytes_of(topic: str, size_bytes: int) -> int:
    """Return what a message of this topic and this size in a queue costs as a retained one."""
    return MESSAGE_BYTES + text_bytes_of(topic) + size_bytes


@mypyc_attr(acyclic=True)
class Message:
    """An application message as its publisher sent it. One object serves all its receivers."""

    def __init__(
        self,
        number: int,
        topic: str,
        topic_field: bytes,
        payload: bytes,
        qos: int,
        retain: bool,
        forwarded: bytes = b"",
        expires_ms: int = 0,
    ) -> None:
        self.number = number
        self.topic = topic
        self.topic_field = topic_field
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.forwarded = forwarded
        """The properties of MQTT 5.0 that are passed on, as on the wire."""
        self.expires_ms = expires_ms
        """When it expires, in milliseconds of gateway time; 0: never."""
        self.has_place = False
        """Of a held message: it will be retained when it is released, whatever `max_retained` and
        `max_retained_bytes` are by then, because its publisher has been told so."""
        self.stored = False
        """The message has a row of its own in the tables."""
        self.batch = -1
        """The batch whose facts entitle others to see it; -1: it needs none."""

    def flags(self) -> int:
        """Return the flags of the message, in the journal and in its row."""
        return self.qos | (RETAIN if self.retain else 0) | (HAS_PLACE if self.has_place else 0)

    def size_bytes(self) -> int:
        """Return what the message weighs in a queue: topic and payload."""
        return len(self.topic_field) + len(self.payload) + len(self.forwarded)

    def retained_bytes(self) -> int:
        """Return what it costs in memory to keep the message as a retained one, at the most."""
        return retained_bytes_of(self.topic, self.size_bytes())


class Subscription:
    """A topic filter with the options of its SUBSCRIBE."""

    def __init__(self, topic_filter: str, options: int, identifier: int) -> None:
        self.topic_filter = topic_filter
        self.options = options
        """The options byte as the standard draws it (5.0 section 3.8.3.1)."""
        self.qos = options & 3
        self.no_local = options & 4 != 0
        self.retain_as_published = options & 8 != 0
        self.retain_handling = options >> 4 & 3
        self.identifier = identifier
        """The subscription identifier of MQTT 5.0, 0: none."""
        self.is_shared = names_group(topic_filter)
        self.key = crc32(topic_filter.encode())
        """What a delivery that came through this subscription alone remembers of it: 32 bits."""

    def delivery_flags(self, qos: int, retain: bool) -> int:
        """Return the flags of a delivery that came through this subscription alone."""
        flags = qos | (RETAIN if retain else 0) | (SHARED if self.is_shared else 0)
        return flags | THROUGH_ONE | self.key << KEY_SHIFT


def names_group(topic_filter: str) -> bool:
    """Return whether this is a shared subscription (5.0 section 4.8.2), for any version.

    What only looks like one is refused to clients of 5.0; to older ones it is a filter like any
    other, and must not be taken apart.
    """
    return is_shared_filter(topic_filter) and validate_shared_filter(topic_filter) is None


class Will:
    """A will message, held until its connection ends (3.1.1 section 3.1.2.5)."""

    def __init__(
        self,
        topic: str,
        topic_field: bytes,
        payload: bytes,
        qos: int,
        retain: bool,
        delay_seconds: int = 0,
        expiry_seconds: int = -1,
        forwarded: bytes = b"",
    ) -> None:
        self.topic = topic
        self.topic_field = topic_field
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.delay_seconds = delay_seconds
        self.expiry_seconds = expiry_seconds
        """Message expiry interval, counted from publication; -1: none."""
        self.forwarded = forwarded

    def memory_bytes(self) -> int:
        """Return what the will costs in memory, at the most."""
        size_bytes = len(self.topic_field) + len(self.payload) + len(self.forwarded)
        return MESSAGE_BYTES + text_bytes_of(self.topic) + size_bytes


@mypyc_attr(acyclic=True)
class Held:
    """A QoS 2 message received and acknowledged with PUBREC, waiting for its PUBREL."""

    def __init__(self, session: "Session", packet_id: int, message: Message, now: float) -> None:
        self.session = session
        self.packet_id = packet_id
        self.message = message
        self.since = now
        self.stored = False
        """A row of it may be in the tables."""


@mypyc_attr(acyclic=True)
class Delivery:
    """A message on its way to one session: first waiting in its queue, then in flight."""

    def __init__(
        self,
        session: "Session",
        message: Message | None,
        message_number: int,
        flags: int,
        position: int,
    ) -> None:
        self.session = session
        self.message = message
        """None while the contents are on disk only."""
        self.message_number = message_number
        self.flags = flags
        self.qos = flags & QOS
        self.position = position
        self.packet_id = 0
        self.state = WAITING
        self.pubrec = 0
        """Which of its session's PUBRECs has come for it, counted from 1."""
        self.sent_at = 0.0
        self.stored = False
        """A row of it may be in the tables: it has gone through a checkpoint."""


class Session:
    """A client's session. `durable`: it outlives its connection and the power."""

    def __init__(self, number: int, client_id: str, durable: bool) -> None:
        self.number = number
        self.client_id = client_id
        self.client_id_bytes = client_id.encode()
        self.durable = durable
        self.username: str | None = None
        """To whom it belongs: nobody else may have it. None: its client named no user."""
        self.protocol = 4
        self.expiry_seconds = EXPIRY_NEVER if durable else 0
        """Session expiry interval; EXPIRY_NEVER: it does not expire."""
        self.ended = False
        self.connection: Connection | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.keys: dict[int, Subscription] = {}
        """Subscriptions that are shared or have an identifier, by their key."""
        self.will: Will | None = None
        # Received and sent identifiers are two worlds, never one map.
        self.inbound: dict[int, Held] = {}
        self.inbound_bytes = 0
        self.outbound: dict[int, Delivery] = {}
        self.pubrecs = 0
        """How many have come, as far as what is in flight remembers."""
        self.last_packet_id = 0
        self.unsent: deque[Delivery] = deque()
        """In flight, but not yet sent again on this connection: its window is smaller."""
        # The queue in order: `waiting`, then what is on disk only, then `recent`.
        self.waiting: deque[Delivery] = deque()
        self.stored_first = 0
        self.stored_count = 0
        self.recent: deque[Delivery] = deque()
        self.first_position = 0
        self.next_position = 0
        self.frozen_first = 0
        self.frozen_position = 0
        """`first_position` and `next_position` when the last checkpoint was begun."""
        self.queued_count = 0
        self.queued_bytes = 0
        self.loading = False
        """Contents are being read from disk: nothing may be started before they are here."""
        self.pages_requested = 0
        """Only what the last request brings counts: the client may have come back since."""
        self.named_in_batch = -1
        self.closed_ms = 0
        """When its connection ended, in milliseconds of gateway time; 0: it has one."""
        self.away_since = 0.0
        """The same by the monotonic clock, which every timer goes by."""
        self.overflow_noted = False
        self.expiry_timer_due = NO_TIMER
        """When the earliest timer for its expiry comes up."""
        self.await_rel_scheduled = False
        self.dropped_messages = 0
        self.received_messages = 0
        self.delivered_messages = 0

    def has_room(self, limits: Limits, size_bytes: int) -> bool:
        """Return whether one more message may wait in the queue."""
        return (
            self.queued_count < limits.max_mqueue_len
            and self.queued_bytes + size_bytes <= limits.max_mqueue_bytes
        )

    def takes_at_once(self, connection: "Connection", limits: Limits, qos: int) -> bool:
        """Return whether a message would be sent now, behind nothing that waits."""
        if not qos:
            waits = self.queued_count > 0 and self.durable and limits.mqueue_store_qos0
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
        """Put a delivery at the end of the queue."""
        if self.stored_count or self.recent:
            self.recent.append(delivery)
        else:
            self.waiting.append(delivery)
        self.queued_count += 1
        self.queued_bytes += size_bytes

    def front(self) -> Delivery | None:
        """Return the next delivery if it is in memory; None: the queue is empty or on disk."""
        if not self.waiting and not self.stored_count and self.recent:
            self.waiting, self.recent = self.recent, self.waiting
        return self.waiting[0] if self.waiting else None

    def consume(self, position: int) -> None:
        """Take everything up to and including `position` off the front of the queue."""
        while self.waiting and self.waiting[0].position <= position:
            delivery = self.waiting.popleft()
            self.queued_count -= 1
            if delivery.message is not None:
                self.queued_bytes -= delivery.message.size_bytes()
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

    def evict(self, keep: int) -> None:
        """Forget deliveries beyond the first `keep` that a finished checkpoint wrote to disk."""
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
        """Return a packet identifier that is not in flight, or 0 if all are [MQTT-2.3.1-2]."""
        if len(self.outbound) >= 65_535:
            return 0
        packet_id = self.last_packet_id
        while True:
            packet_id = packet_id + 1 if packet_id < 65_535 else 1
            if packet_id not in self.outbound:
                self.last_packet_id = packet_id
                return packet_id


AWAITING_CONNECT: Final = 0
AUTHENTICATING: Final = 1
AWAITING_AUTH: Final = 2
CONNECTED: Final = 3
CLOSED: Final = 4


class ConnectionShare:
    """The connections that one listener may have of all that the broker may have."""

    def __init__(self, connections_max: int) -> None:
        self.connections_max = connections_max
        self.connections_open = 0


class PutOff:
    """Messages for which the disk has no room: before 5.0 they cannot be refused."""

    def __init__(self) -> None:
        self.packets: list[Publish] = []
        self.bytes_count = 0


class Connection:
    """One network connection as the core sees it: a decoder in, two lists of bytes out."""

    def __init__(  # noqa: PLR0915 - an attribute each
        self,
        address: str,
        decoder: Decoder,
        anonymous: bool,
        now: float,
        share: ConnectionShare | None = None,
    ) -> None:
        self.address = address
        self.decoder = decoder
        self.anonymous = anonymous
        """The listener lets clients in that name no user."""
        self.share = share
        """What the listener may have; None: as much as the broker."""
        self.state = AWAITING_CONNECT
        self.session: Session | None = None
        self.version = 0
        self.keep_alive_seconds = 0
        # What a 5.0 client allows us; the values stand for "no limit" where it said nothing.
        self.receive_maximum = 65_535
        self.receive_maximum_granted = 65_535
        self.receiving = 0
        """QoS 1 and 2 messages of this connection that have not had their last acknowledgement."""
        self.received = 0
        """Those of them whose last acknowledgement waits for the batch that is being collected."""
        self.maximum_packet_size_bytes = 0
        self.topic_alias_maximum = 0
        self.wants_problem_information = True
        self.session_expiry_seconds = 0
        self.authentication_method: str | None = None
        self.username: str | None = None
        self.checking = False
        """The shell has a question about this client's credentials."""
        self.reauthenticating = False
        self.connect: Connect | None = None
        """The CONNECT that is being authenticated."""
        self.aliases_in: dict[int, tuple[str, bytes]] = {}
        self.aliases_out: dict[str, tuple[int, int]] = {}
        """The alias of a topic, and the batch with which its definition leaves."""
        self.connected_at = 0.0
        self.last_received = now
        self.outgoing = PacketBuffer()
        self.forwarded_bytes = 0
        """QoS 0 in `outgoing` and `early`: what is in store for this client, whatever it reads."""
        self.early: list[bytes] = []
        """What needs no fact, but came before CONNACK was durable."""
        self.withheld = PacketBuffer()
        self.withheld_batch = -1
        """The youngest batch that bytes of this connection wait for."""
        self.greeted = False
        """CONNACK is on its way: nothing may overtake it [MQTT-3.2.0-1]."""
        self.writable = True
        """False while the peer reads more slowly than we write."""
        self.unwritable_since = 0.0
        self.slow_reader_scheduled = False
        self.heard = True
        """False while we do not read from it: its silence is ours then."""
        self.closing = False
        self.undecided: list[Packet] = []
        """Packets that came while the client's password was being checked, or that are too much
        work to be handled at once."""
        self.behind = False
        """It had its slice of work: what is left goes on when others have been served."""
        self.put_off = PutOff()

    def window_of(self, limits: Limits) -> int:
        """Return how many QoS 1 and 2 deliveries may be in flight: never more than the client
        allows [MQTT5-3.3.4-9]."""
        return min(limits.window_of(), self.receive_maximum)

    def let_go(self) -> None:
        """Drop what only an open connection needs: the shell may hold this one for a while yet."""
        self.decoder.let_go()
        self.connect = None
        self.undecided = []
        self.put_off = PutOff()
        self.behind = False
        self.aliases_in = {}
        self.aliases_out = {}
        self.early = []
        self.withheld.take()

    def take_outgoing(self) -> bytes:
        """Return the packets that may leave now, in one piece."""
        parts = self.outgoing.take()
        self.forwarded_bytes = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)
