"""Limits that operators configure or several modules share: name, unit, default and reason.

The names are those used by other brokers. The server sets them from the configuration, and may
replace them while the broker runs.
"""

from collections.abc import Callable
from typing import Final

from gateway.core.quota import Quotas
from gateway.core.sessions.when_full import WhenFull

PACKET_ID_MAX: Final = 65_535
"""Packet identifiers are 16 bits wide, 0 excluded [MQTT-2.3.1-1]."""

CLIENT_ID_BYTES_MAX: Final = 1_024
"""Longest client identifier accepted: every event of the session log carries it."""

# Not Final, as SLICE_MESSAGES is not: mypyc puts a Final number into the machine code, where tests
# could not make it small enough to be reached.

QUEUE_PAGE_MESSAGES: int = 256
"""Messages read from disk at a time when a window opens: one query, some 100 kB of memory."""

WAITING_IN_MEMORY_MESSAGES: int = 512
"""Queued messages a connected session keeps in memory after a checkpoint: two pages."""

FORWARDED_BYTES_MAX: Final = 4 * 1024 * 1024
"""QoS 0 for one client within one tick of the loop. A tick brings about 1 MiB, but a topic alias of
three bytes may stand for a topic of 64 kB: without a limit 18 kB became 120 MB."""

WILD_PATTERNS_MAX: int = 8_192
"""Levels that a lookup may have to visit beside those of its topic, two milliseconds: for each
different way in which filters mix names and `+`, one for each level from the first `+` on. Fleets
have some dozens of such ways; 1,000 random ones of 128 levels had a lookup take 30 ms."""

WILLS_BYTES_MAX: int = 64 * 1024 * 1024
"""Memory of all wills; beyond it a CONNECT with a large one is refused."""

WILL_BYTES_FREE: Final = 2 * 1024
"""A will of this size is always taken: one with the text "offline" has some hundred bytes."""

HELD_BYTES_MAX: int = 128 * 1024 * 1024
"""QoS 2 messages received and not yet released, of all sessions: beyond it a session may hold
HELD_BYTES_FREE. All of them are in memory, and a session outlives its connection."""

HELD_BYTES_FREE: Final = 16 * 1024
"""Held for one session whatever the others do."""

ALIASED_TOPIC_CHARACTERS_MAX: Final = 256
"""Longer topics get no alias towards a client: each would be kept for as long as its connection."""

SLOW_READER_SECONDS: Final = 300.0
"""How long a full write buffer may stay full: ample for 1 MiB over a modem. Then the connection
ends; a client that has stopped reading would keep it, and we would not read from it, without
limit."""


KEEP_ALIVE_PART_BYTES: Final = 1024
"""Of a packet that is still coming, within one and a half keep-alives: they count as a packet does.
A line of 9,600 baud brings them within the shortest of these times, 1.5 s. A client that sends its
packets more slowly than that is ended, and none can make one packet last without limit."""

PUT_OFF_BYTES_MAX: Final = 64 * 1024
"""Messages of one connection that wait for room, on a full disk or in a queue; with more it is not
read. Until then its PINGREQ and its acknowledgements are received: a client's window is seldom
larger."""

# Not Final: tests make it small enough to be reached.
PUT_OFF_CONNECTIONS_MAX: int = 512
"""Connections with such messages that are read on, 32 MiB of them; of more one message is kept for
each."""


READING_SECONDS: Final = 5.0
"""A client that acknowledges nothing for this long does not read: it stops no publisher."""

PACE_SECONDS: Final = 30.0
"""How often the pace of a client that slows publishers is measured."""

DRAIN_SECONDS_MAX: Final = 3_600.0
"""A client that would need longer than this for its queue is too slow to stop publishers."""

ACCEPTED_BEFORE_MESSAGES: Final = 100_000
"""Messages that a queue whose client reads takes beyond its limit, at most: those that were
accepted before publishers had to wait (QoS 2 at its PUBREL, wills, a shared subscription's)."""

ACCEPTED_BEFORE_BYTES: Final = 128 * 1024 * 1024
"""The same in bytes: as many as all sessions may hold until PUBREL (HELD_BYTES_MAX)."""

QUEUED_BYTES: Final = 640
"""Memory of a queued message beside its topic and payload: MESSAGE_BYTES, and its delivery."""

NO_MESSAGE_SIZE_LIMIT: Final = 268_435_455
"""The largest remaining length: no payload is larger."""


class Limits:
    """Limits of the broker: counts, times in seconds (None: never) and sizes in bytes."""

    disk_full: bool = False
    """Not a key: set while the disk has no room for anything new."""
    queues_slow: bool = False
    """Not a key: set while a queue slows its publishers."""
    check_retain_source = True
    """A retained message is sent only while its publisher may publish it."""

    def __init__(self) -> None:
        # In flight towards one client. A slow or distant client needs more than one; too many only
        # move the queue from our disk into its memory. 0: as many as packet identifiers allow.
        self.max_inflight: int = 32
        # Queued for one session. Protects the disk from a client that never comes back.
        self.max_mqueue_len: int = 1_000_000
        self.max_mqueue_bytes: int = 64 * 1024 * 1024
        # Memory of the queues of all clean sessions: their messages are nowhere else.
        self.max_queue_memory_bytes: int = 256 * 1024 * 1024
        # What a client's queue does at these limits; None: all slow their publishers.
        self.when_full_of: Callable[[str], WhenFull] | None = None
        self.queues_refuse: bool = False
        # QoS 0 for a client that is away is dropped unless the operator wants it kept.
        self.mqueue_store_qos0: bool = False
        # QoS 2 messages received and not yet released, for one session.
        self.max_awaiting_rel: int = 100
        # The same in bytes, for the memory they take: one message is always taken.
        self.max_awaiting_rel_bytes: int = 16 * 1024 * 1024
        self.await_rel_timeout_seconds: float | None = None
        # MQTT 3.1.1 and 5.0 resend on reconnect only [MQTT-4.4.0-1].
        self.retry_interval_seconds: float | None = None
        # One packet, fixed header included: bounds the memory one connection can claim.
        self.max_packet_size_bytes: int = 2 * 1024 * 1024
        # Topics that one connection may give a number, in each direction.
        self.max_topic_alias: int = 16
        # Whether payloads that claim to be UTF-8 are checked: it costs a pass over each.
        self.check_payload_format: bool = False
        self.max_keep_alive_seconds: int = 65_535
        # How long a persistent session outlives its connection.
        self.max_session_expiry_seconds: float | None = None
        self.max_connections: int = 10_000
        # From accept to CONNECT: half-open connections must not pile up.
        self.connect_timeout_seconds: float = 10.0
        # For one session: a client bug must not fill the topic tree.
        self.max_subscriptions: int = 1_000
        # For all of them: what they, their filters and the levels of these cost in memory.
        self.max_subscription_bytes: int = 128 * 1024 * 1024
        # Levels of a topic or filter: bounds the walk through the topic tree.
        self.max_topic_levels: int = 128
        # Unsent bytes of one connection before it counts as a slow reader.
        self.max_write_buffer_bytes: int = 1024 * 1024
        self.max_retained: int = 100_000
        # What they and the levels of their topics cost in memory, where all of them are, now and
        # after every start: a gateway with 512 MiB has to be able to start again.
        self.max_retained_bytes: int = 128 * 1024 * 1024
        self.max_sessions: int = 100_000
        # What operators of other brokers can switch off or bound: see docs/configuration.md.
        self.maximum_qos: int = 2
        self.retain_available: bool = True
        # Payload of one message; max_packet_size bounds it as well.
        self.message_size_limit_bytes: int = NO_MESSAGE_SIZE_LIMIT
        self.protocol_versions: tuple[int, ...] = (3, 4, 5)
        self.allow_zero_length_clientid: bool = True
        # U+0001 to U+001F and U+007F to U+009F in topics, filters, client ids and user names:
        # they spoil logs and terminals, and no well-behaved client has them.
        self.allow_control_characters: bool = False
        # What each user may have of all this: see docs/configuration.md.
        self.quotas = Quotas()

    def when_full(self, client_id: str) -> WhenFull:
        """Return what a client's queue does when it is full."""
        return WhenFull.SLOW if self.when_full_of is None else self.when_full_of(client_id)

    def window_of(self) -> int:
        """Return the maximum number of QoS 1 and 2 deliveries in flight to one client."""
        return self.max_inflight if 0 < self.max_inflight < PACKET_ID_MAX else PACKET_ID_MAX
