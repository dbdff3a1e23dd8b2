"""Limits that operators configure, and limits that several modules share.

Configurable limits have the same names as in other brokers. The server reads them from the
configuration, and may change them while the broker runs.
"""

from collections.abc import Callable
from typing import Final

from gateway.broker.core.quota import Quotas
from gateway.broker.core.when_full import WhenFull

PACKET_ID_MAX: Final = 65_535
"""Maximum packet identifier: identifiers have 16 bits, and 0 is not allowed [MQTT-2.3.1-1]."""

CLIENT_ID_BYTES_MAX: Final = 1_024
"""Maximum bytes of a client identifier, since every event in the session log contains it."""

# Not Final, like SLICE_MESSAGES: mypyc compiles Final values into the machine code, where tests
# could not replace them with smaller values.

QUEUE_PAGE_MESSAGES: int = 256
"""Messages loaded from disk per page when a client can receive more: one query, about 100 kB of
memory."""

WAITING_IN_MEMORY_MESSAGES: int = 512
"""Queued messages of a connected session that stay in memory after a checkpoint: two pages."""

FORWARDED_BYTES_MAX: Final = 4 * 1024 * 1024
"""Maximum bytes of QoS 0 data sent to one client per iteration of the event loop. An iteration
receives about 1 MiB, but a topic alias of three bytes may mean a topic of 64 kB. Without a limit,
18 kB became 120 MB."""

WILDCARD_PATTERNS_MAX: int = 8_192
"""Maximum levels that a lookup may visit in addition to those of its topic: two milliseconds. Each
different pattern of names and `+` in filters adds one level for each of its levels from the first
`+` on. Fleets have some dozens of patterns. With 1,000 random patterns of 128 levels, a lookup took
30 ms."""

WILLS_BYTES_MAX: int = 64 * 1024 * 1024
"""Maximum memory of all wills in bytes. Beyond this, a CONNECT with a large will is refused."""

WILL_BYTES_FREE: Final = 2 * 1024
"""Bytes up to which a will is always accepted. A will with the text "offline" has some hundred
bytes."""

HELD_BYTES_MAX: int = 128 * 1024 * 1024
"""Maximum bytes of all QoS 2 messages that are held until PUBREL. Beyond this, each session may
still hold HELD_BYTES_FREE. Held messages take memory, even after their connection has ended."""

HELD_BYTES_FREE: Final = 16 * 1024
"""Bytes of held messages that each session may always have, regardless of other sessions."""

ALIASED_TOPIC_CHARACTERS_MAX: Final = 256
"""Maximum characters of a topic sent with an alias, since each alias is stored until its connection
ends."""

SLOW_READER_SECONDS: Final = 300.0
"""Maximum seconds that a write buffer may stay full: enough for 1 MiB over a modem. Then the
connection is closed. Otherwise, a client that stopped reading would stay connected forever."""


KEEP_ALIVE_PART_BYTES: Final = 1024
"""Bytes of an incomplete packet that count as a sign of life if they arrive within one and a half
keep-alives. A line of 9,600 baud transfers them within 1.5 s, the time for the shortest keep-alive.
A slower client is disconnected, so that no client can stretch one packet without limit."""

DEFERRED_BYTES_MAX: Final = 64 * 1024
"""Maximum bytes of a connection's messages deferred because of a full disk or queue. Beyond this,
the connection is no longer read. Until then, its PINGREQ and acknowledgements are received. Few
clients have more bytes in flight."""

# Not Final, so that tests can use a smaller value.
DEFERRED_CONNECTIONS_MAX: int = 512
"""Maximum connections with deferred messages that are still read: 32 MiB in all. For each further
connection, only one message is stored."""


READING_SECONDS: Final = 5.0
"""Seconds without an acknowledgement after which a client counts as not reading. It then no longer
slows publishers."""

PACE_SECONDS: Final = 30.0
"""Interval in seconds at which the pace of a client that slows publishers is measured."""

DRAIN_SECONDS_MAX: Final = 3_600.0
"""Maximum seconds that a client may need for its queue. A slower client does not slow
publishers."""

ACCEPTED_BEFORE_MESSAGES: Final = 100_000
"""Maximum messages that a queue may take beyond its limit while its client reads: messages accepted
before publishers had to wait. These are QoS 2 messages (queued at PUBREL), wills, and messages for
a shared subscription."""

ACCEPTED_BEFORE_BYTES: Final = 128 * 1024 * 1024
"""The same limit in bytes: as many as all sessions may hold until PUBREL (HELD_BYTES_MAX)."""

QUEUED_BYTES: Final = 640
"""Memory of a queued message in addition to its topic and payload, in bytes: MESSAGE_BYTES and the
delivery."""

NO_MESSAGE_SIZE_LIMIT: Final = 268_435_455
"""Value for no limit, in bytes: the largest remaining length of a packet, so no payload is
larger."""


class Limits:
    """Limits of the broker: counts, times in seconds (None means unlimited) and sizes in bytes."""

    disk_full: bool = False
    """True while the disk is full. Not a configuration key."""
    queues_slow: bool = False
    """True while a queue slows its publishers. Not a configuration key."""
    check_retain_source = True
    """True if a retained message is sent only while its publisher may still publish it."""

    def __init__(self) -> None:
        # Deliveries in flight to one client. A slow or distant client needs more than one; too
        # many only move the queue from disk to the client. 0 means PACKET_ID_MAX.
        self.max_inflight: int = 32
        # Messages queued for one session. Protects the disk from a client that never returns.
        self.max_mqueue_len: int = 1_000_000
        self.max_mqueue_bytes: int = 64 * 1024 * 1024
        # Memory of the queues of all clean sessions, whose messages are stored nowhere else.
        self.max_queue_memory_bytes: int = 256 * 1024 * 1024
        # Behaviour of a client's full queue. If None, every queue slows its publishers.
        self.when_full_of: Callable[[str], WhenFull] | None = None
        self.queues_refuse: bool = False
        # QoS 0 for an absent client is dropped unless the operator wants to keep it.
        self.mqueue_store_qos0: bool = False
        # QoS 2 messages of one session that are received but not released.
        self.max_awaiting_rel: int = 100
        # The same limit in bytes, because held messages are in memory. One is always accepted.
        self.max_awaiting_rel_bytes: int = 16 * 1024 * 1024
        self.await_rel_timeout_seconds: float | None = None
        # MQTT 3.1.1 and 5.0 resend only after a reconnect [MQTT-4.4.0-1].
        self.retry_interval_seconds: float | None = None
        # One packet including its fixed header: limits the memory that one connection can use.
        self.max_packet_size_bytes: int = 2 * 1024 * 1024
        # Topic aliases of one connection, in each direction.
        self.max_topic_alias: int = 16
        # True to check payloads marked as UTF-8, which costs a pass over each payload.
        self.check_payload_format: bool = False
        self.max_keep_alive_seconds: int = 65_535
        # How long a persistent session outlives its connection.
        self.max_session_expiry_seconds: float | None = None
        self.max_connections: int = 10_000
        # From TCP accept to CONNECT: half-open connections must not accumulate.
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
        # Features that other brokers can disable or limit too: see docs/configuration.md.
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

    def policy_for(self, client_id: str) -> WhenFull:
        """Return the policy that decides what happens when a client's queue is full."""
        return WhenFull.SLOW if self.when_full_of is None else self.when_full_of(client_id)

    def window_of(self) -> int:
        """Return the maximum number of QoS 1 and 2 deliveries in flight to one client."""
        return self.max_inflight if 0 < self.max_inflight < PACKET_ID_MAX else PACKET_ID_MAX
