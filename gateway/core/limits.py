"""Every limit of the core in one place: name, unit, default and reason.

The names are those that operators of other brokers know. The shell fills this in from the
configuration and may replace it while the broker runs.
"""

from typing import Final

PACKET_ID_MAX: Final = 65_535
"""Packet identifiers are 16 bits wide, 0 excluded [MQTT-2.3.1-1]."""

CLIENT_ID_BYTES_MAX: Final = 1_024
"""Longest client identifier accepted: every event of the session log carries it."""

# Not Final, as SLICE_MESSAGES is not: mypyc puts a Final number into the machine code, where tests
# could not make it small enough to be reached.

QUEUE_PAGE_MESSAGES: int = 256
"""Messages read from disk at once when a window opens: one query, some 100 kB of memory."""

WAITING_IN_MEMORY_MESSAGES: int = 512
"""Queued messages a connected session keeps in memory after a checkpoint: two pages."""

FORWARDED_BYTES_MAX: Final = 4 * 1024 * 1024
"""QoS 0 for one client within one turn of the loop. A turn brings about 1 MiB, but a topic alias of
three bytes may stand for a topic of 64 kB: without a limit 18 kB became 120 MB."""

SLOW_READER_SECONDS: Final = 300.0
"""How long a full write buffer may stay full: ample for 1 MiB over a modem. Then the connection
ends; a client that has stopped reading would keep it, and we would not read from it, for ever."""


class Limits:
    """What the broker allows. Counts are counts, times seconds (None: never), sizes bytes."""

    def __init__(self) -> None:
        # In flight towards one client. A slow or distant client needs more than one; too many only
        # move the queue from our disk into its memory. 0: as many as packet identifiers allow.
        self.max_inflight: int = 32
        # Queued for one session. Protects the disk from a client that never comes back.
        self.max_mqueue_len: int = 10_000
        self.max_mqueue_bytes: int = 64 * 1024 * 1024
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
        # Levels of a topic or filter: bounds the walk through the topic tree.
        self.max_topic_levels: int = 128
        # Unsent bytes of one connection before it counts as a slow reader.
        self.max_write_buffer_bytes: int = 1024 * 1024
        self.max_retained: int = 100_000
        # All of them are in memory, now and after every start: a gateway with 512 MiB has to be
        # able to start again.
        self.max_retained_bytes: int = 64 * 1024 * 1024
        self.max_sessions: int = 100_000

    def window_of(self) -> int:
        """Return how many QoS 1 and 2 deliveries may be in flight towards one client."""
        return self.max_inflight if 0 < self.max_inflight < PACKET_ID_MAX else PACKET_ID_MAX
