"""Topics and filters take no more memory than their limits count."""

import sys
import tracemalloc
from collections.abc import Callable

import pytest

from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.state import State
from gateway.broker.core.topics import levels as levels_module
from gateway.broker.core.topics import tree as tree_module
from gateway.broker.wire.values import topic_field_of
from tests.broker.core.topics.drawn import deep

IS_COMPILED = not levels_module.__file__.endswith(".py")


SLACK = 1.0 if IS_COMPILED else 1.6
"""Factor by which measured memory may exceed the count: interpreted objects are larger."""


def cost_of(make: Callable[[], object]) -> int:
    before, _ = tracemalloc.get_traced_memory()
    kept = make()
    after, _ = tracemalloc.get_traced_memory()
    assert sys.getrefcount(kept)
    return after - before


def retained_state(topics: Callable[[int], str], count: int) -> State:
    state = State([])
    for number in range(count):
        topic = topics(number)
        message = Message(10**6 + number, topic, topic_field_of(topic), b"x" * 10, 0, True)
        state.retained_set(topic, message)
    return state


@pytest.mark.parametrize(
    ("topics", "count"),
    [
        (lambda number: deep(number, "level"), 200),
        (lambda number: deep(number, "\N{GRINNING FACE}"), 200),
        (lambda number: f"sensors/device-{number}/temperature", 5_000),
        (lambda number: f"flat/{number}", 5_000),
        (lambda number: "/".join(f"{number:012b}"), 4_096),
        (lambda number: "a/" + "b" * 5_000 + f"\N{GRINNING FACE}{number}", 200),
    ],
)
def test_retained_messages_cost_no_more_than_is_counted(
    traced: None, topics: Callable[[int], str], count: int
) -> None:
    made: list[State] = []
    measured = cost_of(lambda: made.append(retained_state(topics, count)))
    changes = sys.getsizeof(made[0].changes.retained) + 200 * count  # for a checkpoint
    assert measured < made[0].retained_memory_bytes() * SLACK + changes
    for topic in list(made[0].retained):
        made[0].retained_cleared(topic)
    assert made[0].retained_memory_bytes() == 0


@pytest.mark.parametrize(
    "filters",
    [
        lambda number: deep(number, "level"),
        lambda number: f"sensors/device-{number}/+",
        lambda number: f"$share/group-{number}/a/#",
        lambda number: f"$share/group-{number}/a/{number}",
    ],
)
def test_subscriptions_cost_no_more_than_is_counted(
    traced: None, filters: Callable[[int], str]
) -> None:
    tree = tree_module.TopicTree([])
    sessions = [Session(10**6 + number, str(number), False) for number in range(20)]

    def fill() -> None:
        for session in sessions:
            for number in range(50):
                name = filters(number + 50 * session.number)
                subscription = Subscription(name, 0, number)
                session.subscriptions[name] = session.keys[subscription.key] = subscription
                tree.subscribe(session, subscription)

    measured = cost_of(fill)
    assert measured < tree.subscription_bytes() * SLACK
    for session in sessions:
        for subscription in session.subscriptions.values():
            tree.unsubscribe(session, subscription)
    assert tree.subscription_bytes() == 0
    assert tree.filters.wildcard_patterns == 0


def test_a_level_that_had_many_below_it_gives_their_memory_back(traced: None) -> None:
    before, _ = tracemalloc.get_traced_memory()
    state = retained_state(lambda number: f"flat/{number}", 5_000)
    for number in range(4_990):
        state.retained_cleared(f"flat/{number}")
    state.changes.retained.clear()
    state.changes.orphans.clear()
    state.retained = dict(state.retained)
    after, _ = tracemalloc.get_traced_memory()
    assert after - before < 150_000, "ten of them are left"
