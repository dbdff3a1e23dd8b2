"""Random plans from seeds: a few clients, some dozen messages, and faults of all kinds."""

import random
from collections.abc import Callable
from dataclasses import replace

from gateway.broker.core.when_full import WhenFull
from tests.instruments.simulation.disk import DiskKind
from tests.instruments.simulation.machine_clock import (
    AHEAD,
    BACK,
    PAST,
    RIGHT,
    STOPPED,
    YEARS_SECONDS,
)
from tests.instruments.simulation.network import Weather
from tests.instruments.simulation.plan import (
    NEVER,
    BeginClock,
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
    SynchroniseClock,
    TakeOver,
    Unsubscribe,
    WillPlan,
)

TOPICS = ("t/1", "t/2", "u/1")
FILTERS = (("t/1", 2), ("t/+", 1), ("t/#", 2), ("u/1", 2), ("u/+", 0), ("#", 1))
GROUPS = ("$share/g/t/#", "$share/h/t/#", "$share/g/t/1", "$share/g/#")


def plan_of(seed: int) -> Plan:
    """Return the plan for a seed."""
    chance = random.Random(seed)  # noqa: S311 - the same every time
    clients = tuple(_client(chance, name) for name in "abcd"[: chance.randint(2, 4)])
    witness = ClientPlan("witness", version=chance.choice((4, 5)), filters=(("#", 2),))
    everybody = (*clients, witness)
    seconds = chance.choice((2.0, 4.0, 10.0, 30.0))
    names = [client.name for client in everybody]
    faults = _faults(chance)
    steps: list[tuple[float, Step]] = []
    for _ in range(chance.randint(10, 45)):
        when = 0.2 + round(seconds * chance.random(), 3)
        if chance.random() < 0.7:
            steps.append((when, _publish(chance, chance.choice(names))))
        else:
            steps.append((when, chance.choice(faults)(chance, chance.choice(names))))
    manners = _with_policy(seed, _manners(chance))
    everybody = _with_aliases(chance, everybody)
    if chance.random() < 0.4:
        everybody = _with_groups(chance, everybody, steps, seconds)
    steps.sort(key=lambda step: step[0])
    return Plan(str(seed), everybody, tuple(steps), manners)


def _with_aliases(chance: random.Random, clients: tuple[ClientPlan, ...]) -> tuple[ClientPlan, ...]:
    """Return the clients, some of which use or accept topic aliases."""
    return tuple(
        replace(
            client,
            aliases=chance.choice((0, 0, 1, 2, 30)),
            topic_alias_maximum=chance.choice((0, 0, 1, 2, 30)),
        )
        if client.version == 5
        else client
        for client in clients
    )


def _with_groups(
    chance: random.Random,
    clients: tuple[ClientPlan, ...],
    steps: list[tuple[float, Step]],
    seconds: float,
) -> tuple[ClientPlan, ...]:
    """Return clients with shared subscriptions, and add steps in which members leave and return.

    The last client, if it is a member, stays, because messages of the other members go to it.
    """
    found = list(clients)
    for group in chance.sample(GROUPS, chance.choice((1, 1, 2))):
        members = chance.sample(range(len(found) - 1), chance.randint(1, len(found) - 1))
        stays = [len(found) - 1] if len(members) == 1 or chance.random() < 0.7 else []
        for index in (*members, *stays):
            client, shared = found[index], (group, chance.choice((0, 1, 1, 2, 2, 2, 2, 2)))
            others = client.filters if chance.random() < 0.4 else ()
            found[index] = replace(client, filters=(*others, shared))
            if index in stays:
                continue
            for _ in range(chance.choice((0, 0, 1, 2))):
                when = 0.2 + round(seconds * chance.random(), 3)
                steps.append((when, _come_or_go(chance, client.name, shared)))
        if chance.random() < 0.5:
            when = 0.2 + round(seconds * chance.random(), 3)
            names = [found[index].name for index in (*stays, *members)]
            steps += _all_leave(chance, names, [client.name for client in clients], when)
    return tuple(found)


def _all_leave(
    chance: random.Random, members: list[str], names: list[str], when: float
) -> list[tuple[float, Step]]:
    """Return steps in which all members of a group leave while messages are published to it.

    Then the last member starts a new session, or stays away until its session may expire.
    """
    seconds = chance.choice((0.3, 1.0, 3.0))
    steps: list[tuple[float, Step]] = []
    for name in members:
        steps.append((when, Leave(name, seconds, sends_disconnect=chance.random() < 0.5)))
    publishers = [name for name in names if name not in members] or names
    for _ in range(chance.randint(2, 8)):
        publish = replace(_publish(chance, chance.choice(publishers)), topic="t/1")
        steps.append((when + 0.1 + round(0.5 * seconds * chance.random(), 3), publish))
    begins = when + seconds + round(0.1 * chance.random(), 3)
    goes = chance.choice((TakeOver(members[-1], clean_start=True), Leave(members[-1], 12.0)))
    return [*steps, (begins, goes)]


def _come_or_go(chance: random.Random, name: str, shared: tuple[str, int]) -> Step:
    return chance.choice(
        (
            Subscribe(name, *shared),
            Unsubscribe(name, shared[0]),
            TakeOver(name),
            TakeOver(name, clean_start=True),
            Leave(name, chance.choice((0.3, 12.0)), ends_session=True),
            Leave(name, chance.choice((3.0, 30.0)), sends_disconnect=False),
        )
    )


def _client(chance: random.Random, name: str) -> ClientPlan:
    version = chance.choice((4, 5))
    will = None
    if chance.random() < 0.4:
        delay = chance.choice((0, 0, 2, 15)) if version == 5 else 0
        will = WillPlan(
            chance.choice(TOPICS),
            chance.randint(0, 2),
            chance.random() < 0.2,
            delay,
            chance.choice((None, None, 10, 3_600)),
        )
    return ClientPlan(
        name,
        version,
        clean=chance.random() < 0.2,
        expiry_seconds=chance.choice((NEVER, NEVER, 60, 20, 5, 0)),
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


def _with_policy(seed: int, manners: Manners) -> Manners:
    """Return the behaviour with a random policy for queues that overflow."""
    if manners.max_mqueue_len >= 1_000:
        return manners
    chance = random.Random(f"{seed}/policy")  # noqa: S311 - the same every time
    return replace(manners, when_full=chance.choice(list(WhenFull)))


def _publish(chance: random.Random, name: str) -> Publish:
    return Publish(
        name,
        chance.choice(TOPICS),
        chance.choice((0, 1, 1, 2, 2, 2)),
        retain=chance.random() < 0.08,
        padding=chance.choice((0, 0, 30, 400)),
        expiry_seconds=chance.choice((None, None, None, None, 1, 10, 60, 3_600)),
    )


Fault = Callable[[random.Random, str], Step]


def _faults(chance: random.Random) -> list[Fault]:
    """Choose some kinds of faults for a run. All together would hide each other."""
    return chance.sample(FAULTS, chance.randint(1, 6))


def _cut_link(chance: random.Random, name: str) -> Step:
    noticed = (0.01, 1.0, None)
    return CutLink(
        name, broker_notices=chance.choice(noticed), client_notices=chance.choice(noticed)
    )


def _cut_power_and_clock(chance: random.Random, name: str) -> Step:
    return CutPower(
        chance.choice((0.2, 2.0, 40.0)),
        chance.choice((RIGHT, STOPPED, BACK, PAST, AHEAD)),
        chance.choice((None, 0.0, 0.5, 8.0)),
    )


def _leave(chance: random.Random, name: str) -> Step:
    return Leave(
        name,
        chance.choice((0.3, 3.0, 12.0, 30.0)),
        sends_disconnect=chance.random() < 0.5,
        ends_session=chance.random() < 0.1,
    )


FAULTS: tuple[Fault, ...] = (
    lambda chance, name: CutPower(chance.choice((0.2, 2.0))),
    lambda chance, name: CutPower(chance.choice((0.01, 0.5))),
    lambda chance, name: Kill(chance.choice((0.05, 1.0))),
    lambda chance, name: StopBroker(chance.choice((0.05, 1.0))),
    lambda chance, name: FailCommit(chance.random() < 0.5),
    lambda chance, name: FillDisk(chance.choice((0.5, 5.0))),
    lambda chance, name: StallDisk(chance.choice((0.1, 3.0))),
    lambda chance, name: StepClock(chance.choice((-60, 5, 100_000, YEARS_SECONDS))),
    lambda chance, name: StepClock(chance.choice((-60, -1, 2)), trusted=True),
    lambda chance, name: BeginClock(),
    lambda chance, name: SynchroniseClock(),
    _cut_power_and_clock,
    _cut_power_and_clock,
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
