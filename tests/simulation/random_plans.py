"""Plans from seeds: a handful of clients, some dozen messages, and trouble of all kinds."""

import random
from collections.abc import Callable

from tests.simulation.disk import DiskKind
from tests.simulation.network import Weather
from tests.simulation.plan import (
    NEVER,
    ClientPlan,
    CutLink,
    CutPower,
    FailCommit,
    FillDisk,
    Kill,
    Leave,
    Manners,
    Plan,
    Publish,
    StallDisk,
    Step,
    StepClock,
    StopBroker,
    StopExport,
    StopReading,
    Subscribe,
    TakeOver,
    Unsubscribe,
    WillPlan,
)

TOPICS = ("t/1", "t/2", "u/1")
FILTERS = (("t/1", 2), ("t/+", 1), ("t/#", 2), ("u/1", 2), ("u/+", 0), ("#", 1))


def plan_of(seed: int) -> Plan:
    """Return the plan of a seed."""
    chance = random.Random(seed)  # noqa: S311 - the same every time
    clients = tuple(_client(chance, name) for name in "abcd"[: chance.randint(2, 4)])
    witness = ClientPlan("witness", version=chance.choice((4, 5)), filters=(("#", 2),))
    everybody = (*clients, witness)
    seconds = chance.choice((2.0, 4.0, 10.0, 30.0))
    names = [client.name for client in everybody]
    troubles = _troubles(chance)
    steps: list[tuple[float, Step]] = []
    for _ in range(chance.randint(10, 45)):
        when = 0.2 + round(seconds * chance.random(), 3)
        if chance.random() < 0.7:
            steps.append((when, _publish(chance, chance.choice(names))))
        else:
            steps.append((when, chance.choice(troubles)(chance, chance.choice(names))))
    steps.sort(key=lambda step: step[0])
    return Plan(str(seed), everybody, tuple(steps), _manners(chance))


def _client(chance: random.Random, name: str) -> ClientPlan:
    version = chance.choice((4, 5))
    will = None
    if chance.random() < 0.4:
        delay = chance.choice((0, 0, 2, 15)) if version == 5 else 0
        will = WillPlan(chance.choice(TOPICS), chance.randint(0, 2), chance.random() < 0.2, delay)
    return ClientPlan(
        name,
        version,
        clean=chance.random() < 0.2,
        expiry_seconds=chance.choice((NEVER, NEVER, 20, 5, 0)),
        receive_maximum=chance.choice((0, 1, 2, 5)),
        window=chance.choice((1, 2, 4, 8)),
        keep_alive_seconds=chance.choice((0, 3, 10)) or 20,
        thinking_seconds=chance.choice((0, 0, 0.01, 0.3)),
        filters=tuple(chance.sample(FILTERS, chance.randint(0, 3))),
        will=will,
    )


def _manners(chance: random.Random) -> Manners:
    return Manners(
        Weather(
            chance.choice((0.0005, 0.005, 0.05)),
            chance.choice((0.0, 0.02, 0.1)),
            chance.choice((0.0, 0.2)),
        ),
        DiskKind(chance.choice((0.0005, 0.004, 0.03)), chance.choice((0.0, 0.05))),
        max_inflight=chance.choice((1, 2, 4, 10)),
        max_mqueue_len=chance.choice((10_000, 10_000, 10_000, 6)),
        mqueue_store_qos0=chance.random() < 0.2,
        max_write_buffer_bytes=chance.choice((200, 4_000)),
        commit_delay_seconds=chance.choice((0.0, 0.0, 0.005)),
        checkpoint_interval_seconds=chance.choice((0.05, 0.5, 2.0)),
    )


def _publish(chance: random.Random, name: str) -> Publish:
    return Publish(
        name,
        chance.choice(TOPICS),
        chance.choice((0, 1, 1, 2, 2, 2)),
        retain=chance.random() < 0.08,
        padding=chance.choice((0, 0, 30, 400)),
        expiry_seconds=chance.choice((None, None, None, 1, 10)),
    )


Trouble = Callable[[random.Random, str], Step]


def _troubles(chance: random.Random) -> list[Trouble]:
    """Choose some kinds of trouble for a run: all at once would hide each other."""
    return chance.sample(TROUBLES, chance.randint(1, 6))


def _cut_link(chance: random.Random, name: str) -> Step:
    noticed = (0.01, 1.0, None)
    return CutLink(
        name, broker_notices=chance.choice(noticed), client_notices=chance.choice(noticed)
    )


def _leave(chance: random.Random, name: str) -> Step:
    return Leave(
        name,
        chance.choice((0.3, 3.0, 12.0, 30.0)),
        says_so=chance.random() < 0.5,
        ends_session=chance.random() < 0.1,
    )


TROUBLES: tuple[Trouble, ...] = (
    lambda chance, name: CutPower(chance.choice((0.2, 2.0))),
    lambda chance, name: CutPower(chance.choice((0.01, 0.5))),
    lambda chance, name: Kill(chance.choice((0.05, 1.0))),
    lambda chance, name: StopBroker(chance.choice((0.05, 1.0))),
    lambda chance, name: FailCommit(chance.random() < 0.5),
    lambda chance, name: FillDisk(chance.choice((0.5, 5.0))),
    lambda chance, name: StallDisk(chance.choice((0.1, 3.0))),
    lambda chance, name: StepClock(chance.choice((-3_000, 5, 100_000))),
    lambda chance, name: StopExport(10.0),
    lambda chance, name: StopReading(name, chance.choice((0.2, 5.0))),
    lambda chance, name: Subscribe(name, *chance.choice(FILTERS)),
    lambda chance, name: Unsubscribe(name, chance.choice(FILTERS)[0]),
    lambda chance, name: TakeOver(name),
    lambda chance, name: TakeOver(name),
    lambda chance, name: TakeOver(name, clean_start=True),
    _cut_link,
    _cut_link,
    _leave,
    _leave,
)
