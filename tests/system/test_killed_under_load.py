"""A broker that is killed repeatedly loses no acknowledged message and duplicates none.

The seed is printed. ONCEGATE_TEST_SEED=<seed> repeats the random numbers, but no seed controls the
kernel's scheduling.
"""

import asyncio
import os
import random
import time
from collections.abc import Callable

import pytest

from tests.peers.resuming_client import Progress, Publisher, Subscriber
from tests.system.session_log import Uploader, deliveries_of
from tests.system.stage import Stage

KILL_COUNT = 12
"""Half a minute of kills; `make kill KILLS=2000` does more."""
OVERLOADED = """[mqtt]
max_mqueue_len = 20

[[queues]]
client = "*"
when_full = "refuse"
"""
"""Settings with small queues, for publishers that are faster than their subscribers."""
# Longer than the broker takes to start, so that some kills come before it is ready.
SECONDS_BEFORE_EARLY_KILL = 0.6
DRAIN_DEADLINE_SECONDS = 90.0


def _subscribers_of(stage: Stage, source: random.Random, progress: Progress) -> list[Subscriber]:
    def subscriber(name: str, *filters: tuple[str, int], rest_seconds: float = 0.0) -> Subscriber:
        dice = random.Random(source.random())  # noqa: S311
        return Subscriber(
            stage.broker.port, name, dice, progress, filters=filters, rest_seconds=rest_seconds
        )

    return [
        subscriber("exact", ("load/#", 2)),
        subscriber("overlapping", ("load/#", 1), ("load/+/+", 2), ("load/+/2", 0)),
        subscriber("lower", ("load/#", 1)),
        subscriber("often-away", ("load/#", 2), rest_seconds=2.0),
    ]


async def _kill_again_and_again(
    stage: Stage, uploader: Uploader, source: random.Random, kills: int
) -> int:
    """Kill and restart the broker. Return how often a queue refused a message, over all starts."""
    broker = stage.broker
    refusals = 0
    for _ in range(kills):
        # The moment of a kill must be random, so no condition is awaited here.
        await asyncio.sleep(source.uniform(0.01, 0.5))
        refusals += await _refusals_of(stage)
        await asyncio.to_thread(broker.kill)
        if source.random() < 0.2:
            broker.spawn()
            await asyncio.sleep(source.uniform(0.0, SECONDS_BEFORE_EARLY_KILL))
            await asyncio.to_thread(broker.kill)
        if source.random() < 0.1:
            await asyncio.to_thread(uploader.kill)
            uploader.start()
        await asyncio.to_thread(broker.start)
    return refusals


async def _refusals_of(stage: Stage) -> int:
    """Return how often a queue has refused a message since the broker's last start."""
    refusals: int = (await stage.status())["errors"].get("queue_refuses", 0)
    return refusals


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("settings", "kills"), [(None, KILL_COUNT), (OVERLOADED, 4)], ids=["load", "overload"]
)
@pytest.mark.statement("MQTT-4.1.0-1", "MQTT-4.3.2-2", "MQTT-4.3.3-1", "MQTT-4.3.3-2")
async def test_kills_under_load_lose_nothing_double_nothing_and_leave_nothing_behind(
    new_stage: Callable[..., Stage],
    new_uploader: Callable[[Stage], Uploader],
    settings: str | None,
    kills: int,
) -> None:
    seed = int(os.environ.get("ONCEGATE_TEST_SEED") or time.time_ns() % 1_000_000)
    print(f"ONCEGATE_TEST_SEED={seed}")
    source = random.Random(seed)  # noqa: S311
    stage = new_stage(settings)
    uploader = new_uploader(stage)
    progress = Progress()
    subscribers = _subscribers_of(stage, source, progress)
    port = stage.broker.port
    publishers = [
        Publisher(port, name, random.Random(source.random()), progress, window=window)  # noqa: S311
        for name, window in (("one", 1), ("few", 10), ("many", 40))
    ]
    async with asyncio.TaskGroup() as tasks:
        for subscriber in subscribers:
            tasks.create_task(subscriber.run())
        for subscriber in subscribers:
            await subscriber.is_subscribed.wait()
        publishing = [tasks.create_task(publisher.run()) for publisher in publishers]
        refusals = await _kill_again_and_again(stage, uploader, source, kills)
        for publisher in publishers:
            publisher.stop()
        async with asyncio.timeout(DRAIN_DEADLINE_SECONDS):
            await asyncio.gather(*publishing)
        # The two last messages come after everything else, including the repeats that QoS 1 allows.
        progress.expected = {"load/end/1": 1, "load/end/2": 1} | {
            publisher.topic_of(qos): publisher.published[qos]
            for publisher in publishers
            for qos in (1, 2)
        }
        for qos in (1, 2):
            await stage.deliver(f"load/end/{qos}", b"1", qos=qos)
    _print_figures(publishers, subscribers)
    refusals += await _refusals_of(stage)
    # If no queue were ever full, the run would prove nothing about queues that refuse.
    assert (refusals > 0) == (settings is OVERLOADED), refusals
    await _nothing_is_left(stage)
    assert await asyncio.to_thread(uploader.stop_when_done) == 0
    _the_log_agrees(stage, publishers)


def _the_log_agrees(stage: Stage, publishers: list[Publisher]) -> None:
    """Assert that the session log reports each message from its first event to its last, once."""
    log = deliveries_of(stage.broker.data_directory)
    print(f"{log.event_count} events in the session log")
    assert set(log.held.values()) == {1}
    assert log.released == log.held
    # The last message comes from a clean session, so the log has it as published, not as held.
    assert log.held.total() == sum(publisher.published[2] for publisher in publishers)
    assert set(log.completed.values()) == {1}
    assert not log.dropped


def _print_figures(publishers: list[Publisher], subscribers: list[Subscriber]) -> None:
    for publisher in publishers:
        print(publisher.client_id, publisher.published, f"{publisher.connection_count} connections")
    for subscriber in subscribers:
        taken = sum(tally.last for tally in subscriber.tallies.values())
        repeated = sum(tally.repeated for tally in subscriber.tallies.values())
        print(
            f"{subscriber.client_id}: {taken} taken, QoS 1 repeated {repeated}, "
            f"QoS 2 suppressed {subscriber.suppressed_count}, "
            f"{subscriber.connection_count} connections"
        )


async def _nothing_is_left(stage: Stage) -> None:
    status = await stage.eventually(
        lambda status: (
            status["inflight"] == status["awaiting_release"] == status["queued"]["messages"] == 0
        ),
        "nothing in flight, queued or awaiting release",
    )
    assert status["queued"]["bytes"] == 0
    assert sum(status["messages"]["dropped"].values()) == 0
    assert await asyncio.to_thread(stage.broker.stop) == 0
    tables = ("inbound", "outbound", "queue", "messages")
    assert stage.broker.rows_of(*tables) == dict.fromkeys(tables, 0)
