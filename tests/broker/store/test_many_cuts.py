"""Long random lives with many power cuts, each during a checkpoint.

Every recovery is compared with the state before the cut. At the end the tables must be empty,
except for retained messages.
"""

import random
from pathlib import Path

import pytest

from gateway.broker.core.sessions.message import DeliveryState
from tests.broker.core.mqtt5 import NEVER
from tests.broker.store.test_recovery_properties import CLIENTS, FILTERS, TOPICS, Story

STEPS = 500
SEEDS = range(30)


def random_connect(story: Story, chance: random.Random, client: str) -> None:
    if chance.random() < 0.5:
        story.do_connect(client, chance.random() < 0.05, chance.random() < 0.1)
    else:
        story.do_connect_5(
            client,
            chance.random() < 0.05,
            chance.choice((10, 300, NEVER)),
            chance.choice((None, None, 0, 15)),
            chance.randint(1, 3),
        )


def random_end(story: Story, chance: random.Random, client: str) -> None:
    if chance.random() < 0.7:
        story.do_leave(client)
    else:
        story.do_disconnect(client, chance.choice((None, 10, NEVER)))


def random_step(story: Story, chance: random.Random) -> None:
    client = chance.choice(CLIENTS)
    roll = chance.random()
    if client not in story.connected:
        random_connect(story, chance, client)
    elif roll < 0.30:
        story.do_publish(
            client,
            chance.choice(TOPICS),
            chance.randint(1, 2),
            chance.random() < 0.1,
            chance.randint(1, 9),
            chance.choice((None, None, 1, 30)),
        )
    elif roll < 0.45:
        story.do_release(client)
    elif roll < 0.70:
        story.do_acknowledge(client, chance.randint(1, 3))
    elif roll < 0.75:
        story.do_subscribe(
            client, chance.choice(FILTERS), chance.randint(1, 2), chance.choice((0, 3))
        )
    elif roll < 0.77:
        story.do_unsubscribe(client, chance.choice(FILTERS))
    elif roll < 0.80:
        random_end(story, chance, client)
    elif roll < 0.81:
        story.do_time(chance.choice((1, 5, 20)))
    elif roll < 0.86:
        story.do_begin_checkpoint()
    elif roll < 0.98:
        story.do_chunks(chance.randint(0, 4))
    else:
        story.do_cut()


def finish(story: Story) -> None:
    """Connect all clients and complete all exchanges."""
    story.do_time(100)  # delayed wills and short sessions end first
    for client in CLIENTS:
        story.do_connect(client, False, False)
    while any(
        session.inbound or session.outbound
        for session in story.harness.broker.state.sessions.values()
    ):
        for client in CLIENTS:
            story.do_release(client)
            story.do_acknowledge(client, 100)
            story.do_commit()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_life_with_many_cuts_keeps_everything_and_leaves_nothing(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - it has to be the same every time
    story = Story(tmp_path)
    for _ in range(STEPS):
        random_step(story, chance)
        for session in story.harness.broker.state.sessions.values():
            for delivery in session.outbound.values():
                # Contents may be on disk only, but are never lost.
                assert delivery.state in (DeliveryState.SENT, DeliveryState.RECEIVED)
    assert "contents_lost" not in story.harness.broker.statistics.dropped
    story.do_cut()
    finish(story)
    story.harness.checkpoint()
    rows = story.harness.rows()
    assert (rows["inbound"], rows["outbound"], rows["queue"]) == (0, 0, 0)
    assert rows["messages"] == len(story.harness.broker.state.retained)
    story.harness.close()
