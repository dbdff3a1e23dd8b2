"""Handwritten plans, each for one subject, whose power is cut before every moment."""

from dataclasses import replace

from gateway.broker.core.when_full import WhenFull
from tests.instruments.simulation.disk import DiskKind
from tests.instruments.simulation.network import Weather
from tests.instruments.simulation.plan import (
    ClientPlan,
    CutLink,
    FailCommit,
    Leave,
    Manners,
    Plan,
    Publish,
    StallDisk,
    Step,
    StopBroker,
    Subscribe,
    TakeOver,
    Unsubscribe,
    WillPlan,
)
from tests.instruments.simulation.scenarios_of_time import SCENARIOS_OF_TIME

Timed = tuple[float, Step]

EVERYTHING = (("t/#", 2),)
QUICK = Manners(Weather(0.001), DiskKind(0.002), checkpoint_interval_seconds=0.05)


def _plan(
    name: str, clients: tuple[ClientPlan, ...], steps: list[Timed], manners: Manners = QUICK
) -> Plan:
    return Plan(name, clients, tuple(sorted(steps, key=lambda step: step[0])), manners)


def _publishing(client: str, count: int, *, start: float, qos: int, apart: float) -> list[Timed]:
    return [(start + apart * index, Publish(client, qos=qos)) for index in range(count)]


P = ClientPlan("p")
S = ClientPlan("s", filters=EVERYTHING)
P5 = ClientPlan("p", version=5)
S5 = ClientPlan("s", version=5, receive_maximum=2, filters=EVERYTHING)

SCENARIOS: tuple[Plan, ...] = (
    _plan(
        "QoS 2 from one client to another",
        (P, S),
        _publishing("p", 3, start=0.1, qos=2, apart=0.004),
    ),
    _plan(
        "QoS 1 and 2 in turn, MQTT 5.0, window 2",
        (P5, S5),
        _publishing("p", 3, start=0.1, qos=2, apart=0.01)
        + _publishing("p", 3, start=0.105, qos=1, apart=0.01),
    ),
    _plan(
        "a subscriber comes back to a queue of several pages",
        (
            ClientPlan("p", window=8),
            ClientPlan("s", version=5, receive_maximum=3, filters=EVERYTHING),
        ),
        [(0.1, Leave("s", 1.0)), *_publishing("p", 10, start=0.2, qos=2, apart=0.01)],
    ),
    _plan(
        "the subscriber is taken over amid QoS 2",
        (P, S),
        [*_publishing("p", 3, start=0.1, qos=2, apart=0.002), (0.116, TakeOver("s"))],
        Manners(Weather(0.004), DiskKind(0.002)),
    ),
    _plan(
        "the publisher is taken over amid QoS 2",
        (P, S),
        [*_publishing("p", 3, start=0.1, qos=2, apart=0.002), (0.112, TakeOver("p"))],
        Manners(Weather(0.004), DiskKind(0.002)),
    ),
    _plan(
        "both connections break amid QoS 2",
        (P, S5),
        [
            *_publishing("p", 3, start=0.1, qos=2, apart=0.002),
            (0.11, CutLink("p")),
            (0.12, CutLink("s")),
        ],
        Manners(Weather(0.004), DiskKind(0.002)),
    ),
    _plan(
        "a session is discarded by a clean start while messages wait",
        (P, S),
        [
            *_publishing("p", 3, start=0.1, qos=2, apart=0.003),
            (0.11, TakeOver("s", clean_start=True)),
            *_publishing("p", 2, start=0.3, qos=1, apart=0.003),
        ],
    ),
    _plan(
        "a session expires while its client is away",
        (P, ClientPlan("s", version=5, expiry_seconds=2, filters=EVERYTHING)),
        [
            (0.1, Leave("s", 8.0, sends_disconnect=False)),
            *_publishing("p", 3, start=0.2, qos=2, apart=0.01),
            # A plan ends with its last step, after which all clients return.
            (9.0, Publish("p", qos=2)),
        ],
    ),
    _plan(
        "a will goes out after its delay, and a retained one immediately",
        (
            ClientPlan("p", version=5, will=WillPlan("t/will", 2, delay_seconds=1)),
            ClientPlan("q", will=WillPlan("t/kept", 1, retain=True)),
            S,
        ),
        [
            (0.1, Leave("p", 4.0, sends_disconnect=False)),
            (0.2, Leave("q", 1.0, sends_disconnect=False)),
        ],
    ),
    _plan(
        "retained messages are replaced while a client subscribes",
        (P, S, ClientPlan("late", filters=(("#", 1),))),
        [
            (0.1, Publish("p", qos=1, retain=True)),
            (0.12, Leave("late", 0.5)),
            (0.13, Publish("p", qos=2, retain=True)),
            (0.14, Unsubscribe("s", "t/#")),
            (0.15, Publish("p", "t/2", qos=1, retain=True)),
        ],
    ),
    _plan(
        "a commit fails and is kept, another fails and is lost",
        (P, S5),
        [
            *_publishing("p", 4, start=0.1, qos=2, apart=0.004),
            (0.106, FailCommit(kept=True)),
            (2.0, FailCommit(kept=False)),
            (2.01, Publish("p", qos=1)),
        ],
    ),
    _plan(
        "everything that arrives during a long commit is the next batch",
        (ClientPlan("p", window=8), ClientPlan("q", version=5), S),
        [
            (0.1, StallDisk(0.1)),
            *_publishing("p", 3, start=0.101, qos=2, apart=0.001),
            *_publishing("q", 3, start=0.101, qos=1, apart=0.001),
        ],
    ),
    _plan(
        "a clean stop amid traffic",
        (P, S),
        [*_publishing("p", 4, start=0.1, qos=2, apart=0.004), (0.111, StopBroker(0.5))],
    ),
    _plan(
        "blobs are exported and dropped between two starts",
        (P, S),
        [
            *_publishing("p", 2, start=0.1, qos=2, apart=0.01),
            (1.5, StopBroker(0.2)),
            *_publishing("p", 2, start=4.0, qos=2, apart=0.01),
            (5.5, Publish("p", qos=1)),
        ],
    ),
    _plan(
        "members of two groups are taken over and go, with and without their sessions",
        (
            ClientPlan("p", window=8),
            ClientPlan("a", filters=(("$share/g/t/#", 2),)),
            ClientPlan("b", version=5, expiry_seconds=2, filters=(("$share/g/t/#", 1),)),
            ClientPlan("c", clean=True, filters=(("$share/h/t/1", 2),)),
            ClientPlan("d", version=5, filters=(("$share/h/t/1", 2), ("$share/g/t/#", 2))),
        ),
        [
            *_publishing("p", 6, start=0.1, qos=2, apart=0.002),
            (0.113, TakeOver("a")),
            (0.116, Leave("b", 6.0, sends_disconnect=False)),
            (0.12, Leave("c", 0.5)),
            (0.2, Leave("d", 0.4, ends_session=True)),
            *_publishing("p", 2, start=0.3, qos=1, apart=0.002),
        ],
    ),
    _plan(
        "a group's member ends its session while messages wait for it on disk",
        (
            ClientPlan("p", window=8),
            ClientPlan(
                "a",
                version=5,
                receive_maximum=1,
                thinking_seconds=0.3,
                filters=(("$share/g/t/#", 2),),
            ),
            ClientPlan("b", filters=(("$share/g/t/#", 2),)),
        ),
        [
            (0.1, Leave("b", 2.5)),
            (0.12, Leave("a", 1.0)),
            *_publishing("p", 5, start=0.15, qos=2, apart=0.003),
            *_publishing("p", 2, start=0.152, qos=1, apart=0.003),
            (1.15, TakeOver("a", clean_start=True)),
            (1.2, Unsubscribe("a", "$share/g/t/#")),
            (1.3, Subscribe("a", "$share/g/t/#", 2)),
        ],
    ),
    _plan(
        "topic aliases both ways over connections that break",
        (
            ClientPlan("p", version=5, aliases=1),
            ClientPlan("s", version=5, topic_alias_maximum=1, filters=EVERYTHING),
            ClientPlan("z", version=5, topic_alias_maximum=2, filters=(("t/#", 0),)),
        ),
        [
            *_publishing("p", 3, start=0.1, qos=0, apart=0.004),
            (0.106, Publish("p", "t/2", qos=2)),
            (0.11, Publish("p", "t/2", qos=0)),
            *_publishing("p", 2, start=0.116, qos=2, apart=0.004),
            (0.117, CutLink("p")),
            (0.119, CutLink("s")),
            *_publishing("p", 2, start=2.0, qos=0, apart=0.01),
            (2.005, Publish("p", "t/2", qos=0)),
            (2.015, Publish("p", "t/2", qos=1)),
        ],
    ),
    _plan(
        "publishers faster than a queue that refuses",
        (
            ClientPlan("p", version=5),
            ClientPlan("q"),
            ClientPlan("s", filters=EVERYTHING),
        ),
        [
            (0.1, Leave("s", 0.3)),
            *_publishing("p", 4, start=0.15, qos=1, apart=0.004),
            *_publishing("q", 4, start=0.152, qos=2, apart=0.004),
        ],
        replace(QUICK, max_inflight=1, max_mqueue_len=3, when_full=WhenFull.REFUSE),
    ),
    _plan(
        "publishers faster than a subscriber that reads",
        (
            ClientPlan("p", version=5, window=20),
            ClientPlan("q", window=20),
            ClientPlan("s", thinking_seconds=0.1, filters=EVERYTHING),
        ),
        [
            *_publishing("p", 20, start=0.1, qos=1, apart=0.02),
            *_publishing("q", 20, start=0.11, qos=2, apart=0.02),
        ],
        replace(
            QUICK, max_inflight=1, max_mqueue_len=10, when_full=WhenFull.SLOW, everyone_reads=True
        ),
    ),
    *SCENARIOS_OF_TIME,
)
