"""The retained messages that match a filter, compared with a plain scan of all topics."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.sessions.message import Message
from gateway.broker.core.topics.retained_walk import RetainedWalk
from gateway.broker.core.topics.tree import TopicTree
from gateway.broker.wire.topics import matches
from gateway.broker.wire.values import topic_field_of
from tests.broker.core.topics.drawn import filters, names


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
