"""Subscriptions and retained messages by topic, against a plain scan of all filters."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.sessions.message import Message
from gateway.core.sessions.session import Session
from gateway.core.sessions.subscription import Subscription
from gateway.core.topics.retained_walk import RetainedWalk
from gateway.core.topics.tree import TopicTree
from gateway.wire.topics import matches
from gateway.wire.values import topic_field_of

levels = st.sampled_from(["a", "b", "", "$s"])
names = st.lists(levels, min_size=1, max_size=4).map("/".join).filter(bool)


@st.composite
def filters(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(["a", "b", "", "$s", "+"]), min_size=1, max_size=4))
    if draw(st.booleans()):
        parts.append("#")
    return "/".join(parts) or "#"


def subscriptions_of(tree: TopicTree, topic: str) -> dict[int, int]:
    return {target.session.number: target.qos for target in tree.route_of(topic).targets}


@given(st.lists(st.tuples(st.integers(1, 3), filters(), st.integers(0, 2))), names)
def test_a_route_is_what_a_scan_of_all_filters_finds(
    wanted: list[tuple[int, str, int]], topic: str
) -> None:
    tree = TopicTree([])
    sessions = {number: Session(number, str(number), False) for number in (1, 2, 3)}
    latest: dict[tuple[int, str], int] = {}
    for number, topic_filter, qos in wanted:
        tree.subscribe(sessions[number], Subscription(topic_filter, qos, 0))
        latest[number, topic_filter] = qos
        tree.route_of(topic)  # a route that is cached now must not be believed later
    expected: dict[int, int] = {}
    for (number, topic_filter), qos in latest.items():
        if matches(topic_filter, topic):
            expected[number] = max(qos, expected.get(number, 0))
    assert subscriptions_of(tree, topic) == expected
    for number, topic_filter in latest:
        tree.unsubscribe(sessions[number], topic_filter)
    assert subscriptions_of(tree, topic) == {}
    assert tree.filters.root.is_empty()
    assert tree.subscription_count == 0


@given(st.lists(names, unique=True), filters(), st.integers(1, 5))
def test_retained_messages_are_found_as_a_scan_finds_them(
    topics: list[str], topic_filter: str, step: int
) -> None:
    tree = TopicTree([])
    for number, topic in enumerate(topics):
        message = Message(number, topic, topic_field_of(topic), b"x", 0, True)
        tree.set_retained(topic, message)
    walk = RetainedWalk(tree.topics.root, topic_filter)
    found: list[str] = []
    while not walk.is_over():
        found += [message.topic for message in walk.step(step)]
    assert sorted(found) == sorted(topic for topic in topics if matches(topic_filter, topic))
    for topic in topics:
        tree.set_retained(topic, None)
    assert tree.filters.root.is_empty()


@given(st.lists(names, unique=True), st.lists(names, unique=True), filters(), st.integers(1, 9))
def test_a_walk_finds_what_stays_while_the_tree_changes_under_it(
    staying: list[str], going: list[str], topic_filter: str, step: int
) -> None:
    tree = TopicTree([])
    for topic in {*staying, *going}:
        tree.set_retained(topic, Message(1, topic, topic_field_of(topic), b"x", 0, True))
    walk = RetainedWalk(tree.topics.root, topic_filter)
    found = [message.topic for message in walk.step(step)]
    for topic in set(going) - set(staying):
        tree.set_retained(topic, None)
    while not walk.is_over():
        found += [message.topic for message in walk.step(step)]
    assert len(found) == len(set(found))
    wanted = {topic for topic in staying if matches(topic_filter, topic)}
    assert wanted <= set(found) <= wanted | set(going)


def test_overlapping_filters_count_once_at_the_highest_qos() -> None:
    tree = TopicTree([])
    session = Session(1, "c", True)
    for topic_filter, qos in (("a/#", 0), ("a/+", 2), ("a/b", 1)):
        tree.subscribe(session, Subscription(topic_filter, qos, 0))
    assert subscriptions_of(tree, "a/b") == {1: 2}
    assert tree.route_of("a/b").durable


def test_topics_of_the_log_are_marked() -> None:
    tree = TopicTree(["sensors/#"])
    assert tree.route_of("sensors/a/b").logged
    assert not tree.route_of("other").logged
