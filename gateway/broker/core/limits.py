"""Limits that operators configure or several modules share: name, unit, default and reason.

The names are those used by other brokers. The server sets them from the configuration, and may
replace them while the broker runs.
"""

from collections.abc import Callable
from typing import Final

from gateway.broker.core.quota import Quotas
from gateway.broker.core.when_full import WhenFull

PACKET_ID_MAX: Final = 65_535
"""Packet identifiers have 16 bits; 0 is not allowed [MQTT-2.3.1-1]."""

CLIENT_ID_BYTES_MAX: Final = 1_024
"""Longest client identifier accepted: every event of the session log contains it."""

# Not Final, like SLICE_MESSAGES: mypyc compiles Final numbers into the machine code, where tests
# could not make them small enough to be reached.

QUEUE_PAGE_MESSAGES: int = 256
"""Messages read from disk at a time when a window opens: one query, some 100 kB of memory."""

WAITING_IN_MEMORY_MESSAGES: int = 512
"""Queued messages of a connected session kept in memory after a checkpoint: two pages."""

FORWARDED_BYTES_MAX: Final = 4 * 1024 * 1024
"""QoS 0 data for one client within one turn of the event loop, at most. A turn receives about 1
MiB, but a topic alias of three bytes may mean a topic of 64 kB: without a limit 18 kB became 120
MB."""

WILD_PATTERNS_MAX: int = 8_192
"""Levels that a lookup may visit in addition to those of its topic, at most: two milliseconds. Each
different mix of names and `+` in filters adds one per level from its first `+` on. Fleets have some
dozens of such patterns; with 1,000 random ones of 128 levels a lookup took 30 ms."""

WILLS_BYTES_MAX: int = 64 * 1024 * 1024
"""Memory of all wills; beyond it a CONNECT with a large will is refused."""

WILL_BYTES_FREE: Final = 2 * 1024
"""A will of this size is always accepted: one with the text "offline" has some hundred bytes."""

HELD_BYTES_MAX: int = 128 * 1024 * 1024
"""QoS 2 messages received and not yet released, of all sessions; beyond it each session may hold
HELD_BYTES_FREE. All of them are in memory, and a session outlives its connection."""

HELD_BYTES_FREE: Final = 16 * 1024
"""Bytes that each session may hold regardless of the others."""

ALIASED_TOPIC_CHARACTERS_MAX: Final = 256
"""Longer topics are sent without an alias: each alias is stored as long as its connection."""

SLOW_READER_SECONDS: Final = 300.0
"""How long a write buffer may stay full: enough for 1 MiB over a modem. Then the connection is
closed; otherwise a client that stopped reading would keep it open forever."""


KEEP_ALIVE_PART_BYTES: Final = 1024
"""Bytes of an incomplete packet within one and a half keep-alives that count as a sign of life. A
line of 9,600 baud transfers them in the shortest of these times, 1.5 s. A client that sends more
slowly is disconnected, and no client can stretch one packet without limit."""

PUT_OFF_BYTES_MAX: Final = 64 * 1024
"""Deferred messages of one connection, on a full disk or for a full queue; with more, it is not
read. Until then its PINGREQ and acknowledgements are received: few clients have a larger window."""

# Not Final: tests make it small enough to be reached.
PUT_OFF_CONNECTIONS_MAX: int = 512
"""Connections with deferred messages that are still read, at most: 32 MiB. For each further one a
single message is stored."""


READING_SECONDS: Final = 5.0
"""A client that acknowledges nothing for this long is not reading, so it slows no publisher."""

PACE_SECONDS: Final = 30.0
"""Interval at which the pace of a client that slows publishers is measured."""

DRAIN_SECONDS_MAX: Final = 3_600.0
"""A client that needs longer than this for its queue is too slow to hold up publishers."""

ACCEPTED_BEFORE_MESSAGES: Final = 100_000
"""Messages that a queue may take beyond its limit while its client reads: those accepted before
publishers had to wait (QoS 2 at its PUBREL, wills, and those of a shared subscription)."""

ACCEPTED_BEFORE_BYTES: Final = 128 * 1024 * 1024
"""The same in bytes: as many as all sessions may hold until PUBREL (HELD_BYTES_MAX)."""

QUEUED_BYTES: Final = 640
"""Memory of a queued message in addition to its topic and payload: MESSAGE_BYTES and its
delivery."""

NO_MESSAGE_SIZE_LIMIT: Final = 268_435_455
"""The largest remaining length, so no payload is larger."""


class Limits:
    """Limits of the broker: counts, times in seconds (None: never) and sizes in bytes."""

    disk_full: bool = False
    """Not a configuration key: set while the disk is full."""
    queues_slow: bool = False
    """Not a configuration key: set while a queue slows its publishers."""
    check_retain_source = True
    """True if a retained message is sent only while its publisher may publish it."""

    def __init__(self) -> None:
        # In flight to one client. A slow or distant client needs more than one; too many only move
        # the queue from our disk into its memory. 0: as many as there are packet identifiers.
        self.max_inflight: int = 32
        # Queued for one session. Protects the disk from a client that never returns.
        self.max_mqueue_len: int = 1_000_000
        self.max_mqueue_bytes: int = 64 * 1024 * 1024
        # Memory of the queues of all clean sessions, whose messages are stored nowhere else.
        self.max_queue_memory_bytes: int = 256 * 1024 * 1024
        # What a client's queue does at these limits; None: every queue slows its publishers.
        self.when_full_of: Callable[[str], WhenFull] | None = None
        self.queues_refuse: bool = False
        # QoS 0 for an absent client is dropped unless the operator wants to keep it.
        self.mqueue_store_qos0: bool = False
        # QoS 2 messages received and not yet released, for one session.
        self.max_awaiting_rel: int = 100
        # The same in bytes, because they are in memory. One message is always accepted.
        self.max_awaiting_rel_bytes: int = 16 * 1024 * 1024
        self.await_rel_timeout_seconds: float | None = None
        # MQTT 3.1.1 and 5.0 resend only after a reconnect [MQTT-4.4.0-1].
        self.retry_interval_seconds: float | None = None
        # One packet including its fixed header: limits the memory that one connection can use.
        self.max_packet_size_bytes: int = 2 * 1024 * 1024
        # Topic aliases of one connection, in each direction.
        self.max_topic_alias: int = 16
        # Whether payloads marked as UTF-8 are checked, which costs a pass over each.
        self.check_payload_format: bool = False
        self.max_keep_alive_seconds: int = 65_535
        # How long a persistent session outlives its connection.
        self.max_session_expiry_seconds: float | None = None
        self.max_connections: int = 10_000
        # From accept to CONNECT: half-open connections must not accumulate.
        self.connect_timeout_seconds: float = 10.0
        # For one session: a bug in a client must not fill the topic tree.
        self.max_subscriptions: int = 1_000
        # Memory of all subscriptions, with their filters and topic levels.
        self.max_subscription_bytes: int = 128 * 1024 * 1024
        # Levels of a topic or filter: bounds the walk through the topic tree.
        self.max_topic_levels: int = 128
        # Unsent bytes of one connection before it is considered a slow reader.
        self.max_write_buffer_bytes: int = 1024 * 1024
        self.max_retained: int = 100_000
        # Memory of all retained messages and their topic levels, all of which are loaded at every
        # start: a gateway with 512 MiB must be able to start again.
        self.max_retained_bytes: int = 128 * 1024 * 1024
        self.max_sessions: int = 100_000
        # What operators of other brokers can disable or limit: see docs/configuration.md.
        self.maximum_qos: int = 2
        self.retain_available: bool = True
        # Payload of one message; max_packet_size limits it as well.
        self.message_size_limit_bytes: int = NO_MESSAGE_SIZE_LIMIT
        self.protocol_versions: tuple[int, ...] = (3, 4, 5)
        self.allow_zero_length_clientid: bool = True
        # U+0001 to U+001F and U+007F to U+009F in topics, filters, client ids and user names: they
        # break logs and terminals, and no well-behaved client uses them.
        self.allow_control_characters: bool = False
        # Quotas of users: see docs/configuration.md.
        self.quotas = Quotas()

    def when_full(self, client_id: str) -> WhenFull:
        """Return what a client's queue does when it is full."""
        return WhenFull.SLOW if self.when_full_of is None else self.when_full_of(client_id)

    def window_of(self) -> int:
        """Return the maximum number of QoS 1 and 2 deliveries in flight to one client."""
        return self.max_inflight if 0 < self.max_inflight < PACKET_ID_MAX else PACKET_ID_MAX
