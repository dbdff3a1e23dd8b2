"""The scenarios of `make bench`, and the ratios that they must reach."""

from dataclasses import dataclass
from typing import Final

LOGGED_TOPIC: Final = "sensors/bench"
"""A topic below `sensors/#`, whose payloads the session log contains by default."""

_TEN_TO_TEN: Final = ("--publishers", "10", "--subscribers", "10", "--pairs", "--window", "100")


@dataclass(frozen=True)
class Contest:
    """Both brokers under the same load. The ratio is that of the messages delivered per second."""

    name: str
    options: tuple[str, ...]
    least_ratio: float
    queue_messages: int | None = None
    """The queue limit of a session in both brokers, in messages.

    With None, Mosquitto's queue is unlimited, and Oncegate uses its default.
    """
    tls: bool = False
    plain: bool = False
    """Oncegate runs as plain Python, as it does without a C compiler and until the first build."""


CONTESTS: Final = (
    Contest("QoS 0, 1 publisher, 1 subscriber", ("--qos", "0"), 5),
    Contest("QoS 0, 1 publisher, 50 subscribers", ("--qos", "0", "--subscribers", "50"), 12),
    Contest("QoS 1, 10 to 10, window 100, clean sessions", ("--qos", "1", *_TEN_TO_TEN), 6),
    Contest("QoS 2, 10 to 10, window 100, clean sessions", ("--qos", "2", *_TEN_TO_TEN), 8),
    Contest(
        "QoS 2, 10 to 10, window 100, persistent sessions; Oncegate: all fsynced, session log",
        ("--qos", "2", *_TEN_TO_TEN, "--persistent", "--topic", LOGGED_TOPIC),
        5,
    ),
    Contest(
        "Backlog: 300,000 queued at QoS 1, ten sessions come back; Oncegate: all fsynced",
        ("--qos", "1", *_TEN_TO_TEN, "--persistent", "--away", "--count", "30000"),
        1,
        queue_messages=30_000,
    ),
    Contest(
        "Burst at QoS 1 into ten queues at their limit of 1,000; Oncegate: all fsynced",
        ("--qos", "1", *_TEN_TO_TEN, "--persistent", "--away"),
        1,
        queue_messages=1_000,
    ),
)

BURST_MESSAGES: Final = 200_000

_BURST: Final = ("--publishers", "10", "--window", "100", "--outstanding", "32768")

BURSTS: Final = (
    Contest(
        "QoS 1, 10 publishers to 1 subscriber, clean sessions",
        ("--qos", "1", *_BURST, "--count", str(BURST_MESSAGES // 10)),
        1,
    ),
    Contest(
        "QoS 2, 10 to 10, persistent sessions; Oncegate: all fsynced",
        (
            *("--qos", "2", *_BURST, "--subscribers", "10", "--pairs", "--persistent"),
            *("--count", str(BURST_MESSAGES // 10)),
        ),
        1,
    ),
)
"""Publishers as fast as the acknowledgements, with the default limits of both brokers' queues.

The ratio is the fraction of acknowledged messages that Oncegate delivers. It must be 1.
"""

MOSQUITTO_QUEUE: Final = 1_000
"""Mosquitto's default of `max_queued_messages`."""

TLS_CONTESTS: Final = (
    Contest("QoS 0, 1 publisher, 1 subscriber, TLS 1.3", ("--qos", "0"), 5, tls=True),
    Contest(
        "QoS 1, 10 to 10, window 100, clean sessions, TLS 1.3",
        ("--qos", "1", *_TEN_TO_TEN),
        5,
        tls=True,
    ),
)
"""The load generator is Python on one core and must encrypt too: compare the CPU ratio."""

PLAIN_CONTESTS: Final = (
    Contest("QoS 0, 1 publisher, 1 subscriber; plain Python", ("--qos", "0"), 2.7, plain=True),
    Contest(
        "QoS 1, 10 to 10, window 100, clean sessions; plain Python",
        ("--qos", "1", *_TEN_TO_TEN),
        1.1,
        plain=True,
    ),
    Contest(
        "QoS 2, 10 to 10, persistent sessions, all fsynced, session log; plain Python",
        ("--qos", "2", *_TEN_TO_TEN, "--persistent", "--topic", LOGGED_TOPIC),
        1.3,
        plain=True,
    ),
)

RULED_RATIO_LEAST: Final = 0.9
"""The least speed with 1,000 users and 1,000 access rules, as a fraction of that without any."""

RULED: Final = (
    Contest("QoS 0, 1 publisher, 1 subscriber", ("--qos", "0"), RULED_RATIO_LEAST),
    Contest("QoS 1, 10 to 10, window 100", ("--qos", "1", *_TEN_TO_TEN), RULED_RATIO_LEAST),
)

RECORDED_RATIO_LEAST: Final = 0.98
"""The least speed while the page records the history, as a fraction of that without a page."""

RECORDED: Final = (
    Contest("QoS 0, 1 publisher, 1 subscriber", ("--qos", "0"), RECORDED_RATIO_LEAST),
    Contest(
        "QoS 2, 10 to 10, window 100, persistent sessions, all fsynced, session log",
        ("--qos", "2", *_TEN_TO_TEN, "--persistent", "--topic", LOGGED_TOPIC),
        RECORDED_RATIO_LEAST,
    ),
)

FSYNCS_A_MESSAGE: Final = 2
"""QoS 2 needs two fsyncs, one after the other: before PUBREC, and before PUBCOMP."""

DURABLE_LATENCY_MOST: Final = 1.5
"""Largest ratio of the acknowledgement's p50 to the p50 of FSYNCS_A_MESSAGE fsyncs."""

# With a window of 1 no subscriber is needed, because only the publisher's exchange is measured. The
# options keep the core awake: two wake-ups would be a large part of the measured time.
ONE_AT_A_TIME: Final = (
    *("--qos", "2", "--window", "1", "--subscribers", "0", "--persistent", "--spin"),
    *("--topic", LOGGED_TOPIC),
)

SHARED_LATENCY_MOST: Final = 2.0
"""Largest ratio of QoS 0's p99 during durable traffic to its p99 without it."""

QUIET_CLIENT: Final = ("--qos", "0", "--rate", "1000")

# Ten closed loops keep a commit running at all times. More would measure the processor.
DISK_LOAD: Final = (
    *("--qos", "2", "--publishers", "10", "--subscribers", "10", "--pairs", "--window", "10"),
    *("--persistent", "--topic", LOGGED_TOPIC),
)

WEAR_RATES: Final = (1, 10, 100)
"""Rates in messages/s at which a commit carries few messages, to measure the wear of a card."""

WEAR: Final = ("--qos", "2", "--persistent", "--topic", LOGGED_TOPIC)

WEAR_SECONDS_LEAST: Final = 10.0
"""At one message per second this is ten messages."""
