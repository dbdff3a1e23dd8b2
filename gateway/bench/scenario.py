"""What one run of the load generator does: who publishes to whom, how much, how fast."""

from dataclasses import dataclass
from typing import Final, Literal

from gateway.bench.frames import BLOCK_MESSAGES, PAYLOAD_BYTES_MIN, PUBLISHERS_MAX

Shape = Literal["pairs", "all"]

WINDOW_MAX: Final = BLOCK_MESSAGES - 1
"""Unacknowledged QoS 1 or 2 messages of one publisher: no identifier is used twice at a time."""

OUTSTANDING_BYTES: Final = 512 * 1024
"""QoS 0 has no flow control: without a rate, at most this much is under way to one subscriber. It
is less than any broker we know drops for a slow reader (1 MiB), and more than a loop's turn needs
at two million messages a second."""

OUTSTANDING_MESSAGES_MAX: Final = BLOCK_MESSAGES
"""The same in messages, for small ones."""

CLIENTS_MAX: Final = 60_000
"""Of one process and address: the local ports are used up after that."""

STALL_SECONDS: Final = 2.0
"""Without a rate, a publisher of QoS 0 whose messages have not come for so long takes them as lost
and goes on."""

DRAIN_SECONDS: Final = 10.0
"""At the end, how long without progress the run waits for what is still under way."""


class ScenarioMistake(ValueError):
    """A scenario that cannot be run; says which value and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`pairs`: publisher i sends to subscriber i. `all`: every subscriber gets every message.

    Either `duration_seconds` (after `warm_up_seconds`) or `count` (messages of each publisher)
    ends the run. `rate` is messages/s of all publishers together, None: as fast as possible.
    """

    host: str = "127.0.0.1"
    port: int = 1883
    version: int = 4
    publishers: int = 1
    subscribers: int = 1
    shape: Shape = "all"
    qos: int = 0
    payload_bytes: int = 64
    window: int = 20
    outstanding: int | None = None
    persistent: bool = False
    rate: float | None = None
    warm_up_seconds: float = 1.0
    duration_seconds: float = 10.0
    count: int | None = None
    topic_prefix: str = "bench"
    username: str | None = None
    password: bytes | None = None

    def __post_init__(self) -> None:
        self._check("publishers", self.publishers, 1, min(PUBLISHERS_MAX, CLIENTS_MAX))
        self._check("subscribers", self.subscribers, 0, CLIENTS_MAX - self.publishers)
        self._check("QoS", self.qos, 0, 2)
        self._check("payload size", self.payload_bytes, PAYLOAD_BYTES_MIN, 1 << 26)
        self._check("window", self.window, 1, WINDOW_MAX)
        self._check("outstanding", self.outstanding_messages, 1, OUTSTANDING_MESSAGES_MAX)
        if self.version not in (4, 5):
            raise ScenarioMistake(f"protocol level {self.version}: expected 4 (3.1.1) or 5 (5.0)")
        if self.shape == "pairs" and self.publishers != self.subscribers:
            raise ScenarioMistake(
                f"{self.publishers} publishers and {self.subscribers} subscribers cannot be "
                "pairs: take as many of both, or the shape all"
            )
        if self.rate is not None and self.rate <= 0:
            raise ScenarioMistake(f"rate {self.rate}: expected more than 0 messages/s")

    @staticmethod
    def _check(name: str, value: int, least: int, most: int) -> None:
        if not least <= value <= most:
            raise ScenarioMistake(f"{name} {value}: expected {least} to {most}")

    @property
    def copies(self) -> int:
        """Subscribers that each message goes to."""
        return min(1, self.subscribers) if self.shape == "pairs" else self.subscribers

    @property
    def outstanding_messages(self) -> int:
        """QoS 0 messages that one publisher may have under way."""
        if self.outstanding is not None:
            return self.outstanding
        into_one = 1 if self.shape == "pairs" else self.publishers
        frame_bytes = self.payload_bytes + 32
        most = OUTSTANDING_BYTES // frame_bytes // into_one
        return min(OUTSTANDING_MESSAGES_MAX, max(1, most))

    @property
    def under_way_max(self) -> int:
        """Messages that one publisher may have under way."""
        return self.window if self.qos else self.outstanding_messages

    def topic_of(self, run: str, publisher: int) -> str:
        """Topics of one length, so that all frames have one length."""
        return f"{self.topic_prefix}/{run}/{publisher:0{len(str(self.publishers - 1))}d}"

    def sources_of(self, subscriber: int) -> range:
        """The publishers whose messages a subscriber gets."""
        if self.shape == "pairs":
            return range(subscriber, subscriber + 1)
        return range(self.publishers)
