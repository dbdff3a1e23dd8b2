"""Patterns that cover a filter, compared with a naive matcher on all topics of a small alphabet."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.rules.topic_patterns import (
    LEVELS_MAX,
    NOTHING,
    PatternTree,
    has_placeholder,
    pattern_error,
    substituted,
)
from gateway.broker.wire.topics import matches, validate_topic_filter

LEVELS = ["a", "b", "", "$a"]
TOPICS = [
    "/".join(levels)
    for depth in (1, 2, 3, 4)
    for levels in product(LEVELS, repeat=depth)
    if "/".join(levels)
]
FILTERS = [
    topic_filter
    for depth in (1, 2, 3)
    for levels in product(["a", "b", "$a", "+", "#"], repeat=depth)
    if validate_topic_filter(topic_filter := "/".join(levels)) is None
]
names = st.sampled_from(["a", "b", "c", "", "$x", "+"])
patterns = st.builds(
    lambda levels, rest: "/".join([*levels, *rest]),
    st.lists(names, min_size=1, max_size=4),
    st.sampled_from([[], ["#"]]),
).filter(lambda pattern: validate_topic_filter(pattern) is None)
topics = st.lists(st.sampled_from(["a", "b", "c", "", "$x"]), min_size=1, max_size=5).map("/".join)


def tree_of(*written: str) -> PatternTree:
    tree = PatternTree()
    for number, pattern in enumerate(written):
        tree.add(pattern, number, 1)
    return tree


def test_a_pattern_covers_a_filter_when_it_matches_every_topic_that_the_filter_matches() -> None:
    matched = {each: {topic for topic in TOPICS if matches(each, topic)} for each in FILTERS}
    for pattern in FILTERS:
        tree = tree_of(pattern)
        for topic_filter in FILTERS:
            covers = tree.first(topic_filter.split("/"), 1) == 0
            assert covers == (matched[topic_filter] <= matched[pattern]), (pattern, topic_filter)


@given(st.lists(patterns, max_size=8), topics)
def test_the_first_pattern_that_matches_a_topic_is_found(written: list[str], topic: str) -> None:
    expected = next(
        (number for number, pattern in enumerate(written) if matches(pattern, topic)), NOTHING
    )
    if topic:
        assert tree_of(*written).first(topic.split("/"), 1) == expected


def test_a_filter_that_only_overlaps_a_pattern_is_not_covered() -> None:
    tree = tree_of("cellar/#", "+/status")
    for topic_filter in ("#", "+/+", "+/#", "+", "attic/#"):
        assert tree.first(topic_filter.split("/"), 1) == NOTHING
    assert tree.first(["cellar", "#"], 1) == 0
    assert tree.first(["+", "status"], 1) == 1


def test_a_rule_of_another_kind_does_not_answer() -> None:
    tree = PatternTree()
    tree.add("t", 0, 0b01)
    tree.add("t", 1, 0b10)
    tree.add(None, 2, 0b100)
    assert [tree.first(["t"], kind) for kind in (1, 2, 4, 8)] == [0, 1, 2, NOTHING]
    assert tree.first(["$SYS", "#"], 4) == 2, "without a pattern all topics are meant"
    assert tree.size == 3


def test_placeholders_stand_for_the_user_and_the_client_identifier() -> None:
    made = substituted("users/%u/%c/100%%/x-%u", username="anna", client_id="c1")
    assert made == "users/anna/c1/100%/x-anna"
    assert substituted("a/%u", username="%c", client_id="c1") == "a/%c"


@pytest.mark.parametrize("name", ["+", "#", "a/b", "a+", "#a", "", "\0"])
def test_a_name_with_a_wildcard_or_a_slash_matches_no_pattern_with_a_placeholder(name: str) -> None:
    assert substituted("users/%u/#", username=name, client_id="c") is None
    assert substituted("clients/%c/#", username="u", client_id=name) is None
    assert substituted("plain/#", username=name, client_id=name) == "plain/#"


def test_a_client_without_a_user_matches_no_pattern_with_the_user() -> None:
    assert substituted("users/%u/#", username=None, client_id="c") is None


def test_a_name_does_not_open_what_is_below_sys() -> None:
    assert substituted("%u/#", username="$SYS", client_id="c") is None
    assert substituted("%c/#", username="u", client_id="$SYS") is None
    assert substituted("$SYS/%u", username="a", client_id="c") == "$SYS/a"


@given(st.text(max_size=20), st.text(min_size=1, max_size=20), topics)
def test_no_name_makes_a_pattern_match_more_than_its_own_level(
    name: str, client_id: str, topic: str
) -> None:
    made = substituted("users/%u/#", username=name, client_id=client_id)
    if made is not None and topic and tree_of(made).first(topic.split("/"), 1) == 0:
        assert topic.split("/")[:2] == ["users", name]


@pytest.mark.parametrize("pattern", ["#", "a/%u/+", "%c", "100%%", "$SYS/#", "/", "a b"])
def test_patterns_that_can_be_used(pattern: str) -> None:
    assert pattern_error(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a/#/b",
        "a+",
        "%x/a",
        "50%",
        "%u+",
        "$share/g",
        "$share/#",
        "$share//t",
        "$share/g+/t",
        "$share/%x/t",
        "$share/g/a+",
        "a/" * LEVELS_MAX + "a",
        "\0",
    ],
)
def test_patterns_that_cannot_be_used(pattern: str) -> None:
    assert pattern_error(pattern)


def test_only_names_of_clients_make_a_pattern_the_client_s_own() -> None:
    assert has_placeholder("a/%u")
    assert has_placeholder("%%%c")
    assert not has_placeholder("100%%u")
