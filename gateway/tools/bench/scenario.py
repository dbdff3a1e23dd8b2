"""The scenario of a load generator run: its clients, the number of messages, and their rate."""

from dataclasses import dataclass
from typing import Final, Literal

from gateway.tools.bench.frames import BLOCK_MESSAGES, PAYLOAD_BYTES_MIN, PUBLISHERS_MAX
from gateway.tools.bench.latency import STEP_FAST

Shape = Literal["pairs", "all"]

WINDOW_MAX: Final = BLOCK_MESSAGES - 1
"""Maximum number of unacknowledged QoS 1 or 2 messages of a publisher, so that no packet identifier
is used twice at the same time."""

OUTSTANDING_BYTES: Final = 512 * 1024
"""Maximum bytes in transit to one subscriber at QoS 0 without a rate, because QoS 0 has no flow
control. Brokers buffer more for a slow reader (Oncegate 1 MiB), and one iteration of the event loop
needs less at two million messages per second."""

OUTSTANDING_BYTES_ALL: Final = 8 * 1024 * 1024
"""Maximum bytes in transit to all subscribers together, so that the run does not only measure the
memory of a slow broker."""

QUEUED_MESSAGES_MAX: Final = 1_000
"""Maximum messages in transit to one subscriber at QoS 1 and 2: Mosquitto's default queue length.
"""

PAYLOAD_BYTES_MAX: Final = 64 * 1024 * 1024
"""Maximum bytes of a payload. A frame must fit into memory a few times. MQTT's limit is 256 MB."""

CLIENTS_MAX: Final = 60_000
"""Maximum number of clients per process and address. More would need more local ports than exist.
"""

FEW_UNDER_WAY: Final = 16
"""If at most this many messages are in transit in the whole run, every message is timed."""

FEW_COPIES: Final = 8
"""If there are more copies of a message than this, fewer messages are timed."""

TIMED_PER_SECOND: Final = 20_000
"""With a rate, about this many messages per second are timed. With a lower rate, all are timed."""


class ScenarioMistake(ValueError):
    """Error raised for a scenario that cannot be run.

    The message states the rejected value and the allowed values.
    """


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Parameters of one run of the load generator.

    With `shape` "pairs", publisher i sends to subscriber i. With "all", every subscriber gets every
    message. After `warm_up_seconds`, the run lasts for `duration_seconds`, or until each publisher
    has sent `count` messages. If `authorities` is set, the clients use TLS and trust the
    certificates in this file. `rate` is the number of messages/s from all publishers together. If
    it is None, messages are sent as fast as possible. After `patience_seconds` without progress,
    missing messages count as lost.

    `outstanding` is the maximum number of a publisher's messages that have not reached all
    subscribers. The default is small enough that brokers do not drop messages. With `spin`, the
    load generator never sleeps. Latencies then do not include wake-up times, but one core is always
    busy.

    With `away`, subscribers disconnect after subscribing, so that messages are queued for their
    persistent sessions. If `count` is set, they reconnect when all messages are acknowledged, and
    the run measures how fast the queues are delivered. Otherwise they stay disconnected, and the
    run measures how fast messages are acknowledged, even when the queues are full.
    """

    host: str = "127.0.0.1"
    port: int = 1883
    authorities: str | None = None
    version: int = 4
    publishers: int = 1
    subscribers: int = 1
    shape: Shape = "all"
    qos: int = 0
    payload_bytes: int = 64
    window: int = 20
    outstanding: int | None = None
    persistent: bool = False
    away: bool = False
    spin: bool = False
    rate: float | None = None
    warm_up_seconds: float = 1.0
    duration_seconds: float = 10.0
    count: int | None = None
    patience_seconds: float = 10.0
    topic_prefix: str = "bench"
    username: str | None = None
    password: bytes | None = None

    def __post_init__(self) -> None:
        _check("publishers", self.publishers, 1, min(PUBLISHERS_MAX, CLIENTS_MAX))
        _check("subscribers", self.subscribers, 0, CLIENTS_MAX - self.publishers)
        _check("QoS", self.qos, 0, 2)
        _check("payload size", self.payload_bytes, PAYLOAD_BYTES_MIN, PAYLOAD_BYTES_MAX)
        _check("window", self.window, 1, WINDOW_MAX)
        _check("outstanding", self.outstanding_messages, 1, BLOCK_MESSAGES)
        if self.count is not None:
            _check("count", self.count, 1, 1 << 40)
        if self.version not in (4, 5):
            raise ScenarioMistake(f"protocol level {self.version}: expected 4 (3.1.1) or 5 (5.0)")
        if self.shape == "pairs" and self.publishers != self.subscribers:
            raise ScenarioMistake(
                f"{self.publishers} publishers and {self.subscribers} subscribers are no pairs: "
                "take as many of both, or the shape all"
            )
        if self.away and not (self.persistent and self.qos and self.subscribers):
            raise ScenarioMistake(
                "subscribers that are away: expected persistent sessions, QoS 1 or 2, and at least "
                "one subscriber, since nothing is queued for others"
            )
        if self.rate is not None and self.rate <= 0:
            raise ScenarioMistake(f"rate {self.rate}: expected more than 0 messages/s")
        if self.warm_up_seconds < 0 or self.duration_seconds <= 0:
            raise ScenarioMistake(
                f"warm-up {self.warm_up_seconds} s, duration {self.duration_seconds} s: "
                "expected 0 or more, and more than 0"
            )
        if not self.patience_seconds > 0:
            raise ScenarioMistake(f"patience {self.patience_seconds} s: expected more than 0")
        if not self.topic_prefix or set(self.topic_prefix) & set("+#\0"):
            raise ScenarioMistake(f"topic prefix {self.topic_prefix!r}: expected a topic name")

    @property
    def never_reconnects(self) -> bool:
        """True if the subscribers stay disconnected for the whole run, and receive no messages."""
        return self.away and self.count is None

    @property
    def outstanding_messages(self) -> int:
        """The maximum number of messages in transit from one publisher, if no rate is set."""
        if self.outstanding is not None:
            return self.outstanding
        into_one = 1 if self.shape == "pairs" else self.publishers
        if self.qos:
            # One window for the publisher and one for the subscriber: they do not wait for each
            # other.
            return max(1, min(2 * self.window, QUEUED_MESSAGES_MAX // into_one))
        bytes_to_one = min(OUTSTANDING_BYTES, OUTSTANDING_BYTES_ALL // max(1, self.subscribers))
        return min(BLOCK_MESSAGES, max(1, bytes_to_one // self.row_bytes // into_one))

    @property
    def row_bytes(self) -> int:
        """Approximate size of one PUBLISH in bytes."""
        return len(self.topic_prefix) + 32 + self.payload_bytes

    @property
    def timing_step(self) -> int:
        """The interval between timed messages, as a number of messages."""
        if self.rate is not None:
            return max(1, round(self.rate / TIMED_PER_SECOND))
        under_way = self.window if self.qos else self.outstanding_messages
        if under_way * self.publishers <= FEW_UNDER_WAY:
            return 1
        # Each subscriber times its own copy.
        copies = 1 if self.shape == "pairs" else self.subscribers
        return STEP_FAST * max(1, copies // FEW_COPIES)

    def topic_of(self, run: str, publisher: int) -> str:
        """Return the topic to which a publisher sends in the run `run`.

        All topics have the same length, so that all frames have the same length too.
        """
        return f"{self.topic_prefix}/{run}/{publisher:0{len(str(self.publishers - 1))}d}"

    def sources_of(self, subscriber: int) -> range:
        """Return the indexes of the publishers whose messages a subscriber receives."""
        if self.shape == "pairs":
            return range(subscriber, subscriber + 1)
        return range(self.publishers)


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ScenarioMistake(f"{name} {value}: expected {least} to {most}")
