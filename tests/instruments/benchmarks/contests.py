"""What is measured: the scenarios of `make bench`, and the ratios that they must reach at least."""

from dataclasses import dataclass
from typing import Final

LOGGED_TOPIC: Final = "sensors/bench"
"""Below `sensors/#`, whose payloads the session log takes along by default."""

_TEN_TO_TEN: Final = ("--publishers", "10", "--subscribers", "10", "--pairs", "--window", "100")


@dataclass(frozen=True)
class Contest:
    """Both brokers under one load; the ratio is that of messages delivered a second."""

    name: str
    options: tuple[str, ...]
    least_ratio: float
    queue_messages: int | None = None
    """What a session's queue holds in both brokers; None: Mosquitto's has no limit, and ours its
    default."""
    tls: bool = False
    plain: bool = False
    """Oncegate runs as plain Python: where there is no C compiler, and until the first build."""


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
"""As fast as the broker acknowledges, both with the default limits of their queues. The ratio is
the share of Oncegate's acknowledged messages that it delivers: all."""

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
"""The load generator is Python on one core, and encrypts as well: the ratio in CPU shows more."""

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
"""With 1,000 users and 1,000 access rules, against none."""

RULED: Final = (
    Contest("QoS 0, 1 publisher, 1 subscriber", ("--qos", "0"), RULED_RATIO_LEAST),
    Contest("QoS 1, 10 to 10, window 100", ("--qos", "1", *_TEN_TO_TEN), RULED_RATIO_LEAST),
)

FSYNCS_A_MESSAGE: Final = 2
"""QoS 2 needs two, one after the other: before PUBREC, and before PUBCOMP."""

DURABLE_LATENCY_MOST: Final = 1.5
"""p50 of the acknowledgement against p50 of so many fsyncs."""

# A window of 1 needs no subscriber: the exchange is the publisher's. Awake, because two times what
# an idle core takes to wake up for an answer would be a good part of what is measured.
ONE_AT_A_TIME: Final = (
    *("--qos", "2", "--window", "1", "--subscribers", "0", "--persistent", "--spin"),
    *("--topic", LOGGED_TOPIC),
)

SHARED_LATENCY_MOST: Final = 2.0
"""p99 of QoS 0 beside durable traffic against p99 without."""

QUIET_CLIENT: Final = ("--qos", "0", "--rate", "1000")

# Ten closed loops: a commit is always under way. More would measure the processor, not the disk.
DISK_LOAD: Final = (
    *("--qos", "2", "--publishers", "10", "--subscribers", "10", "--pairs", "--window", "10"),
    *("--persistent", "--topic", LOGGED_TOPIC),
)

WEAR_RATES: Final = (1, 10, 100)
"""Messages/s at which a commit carries little: what a card bears then."""

WEAR: Final = ("--qos", "2", "--persistent", "--topic", LOGGED_TOPIC)

WEAR_SECONDS_LEAST: Final = 10.0
"""At one message a second, ten messages."""
