"""Topic names and filters: the standard's own examples first."""

import pytest

from gateway.broker.wire.topics import (
    matches,
    validate_shared_filter,
    validate_topic_filter,
    validate_topic_name,
)


@pytest.mark.parametrize(
    ("topic_filter", "topic", "expected"),
    [
        # Section 4.7.1.2
        ("sport/tennis/player1/#", "sport/tennis/player1", True),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking", True),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", True),
        ("sport/#", "sport", True),
        ("#", "sport/tennis", True),
        # Section 4.7.1.3
        ("sport/tennis/+", "sport/tennis/player1", True),
        ("sport/tennis/+", "sport/tennis/player2", True),
        ("sport/tennis/+", "sport/tennis/player1/ranking", False),
        ("sport/+", "sport", False),
        ("sport/+", "sport/", True),
        ("+/+", "/finance", True),
        ("/+", "/finance", True),
        ("+", "/finance", False),
        # Section 4.7.2
        ("#", "$SYS/broker/uptime", False),
        ("+/monitor/Clients", "$SYS/monitor/Clients", False),
        ("$SYS/#", "$SYS/", True),
        ("$SYS/#", "$SYS", True),
        ("$SYS/monitor/+", "$SYS/monitor/Clients", True),
        # Section 4.7.3
        ("ACCOUNTS", "Accounts", False),
        ("/finance", "finance", False),
        ("a", "a", True),
        ("a/b", "a", False),
        ("a", "a/b", False),
        ("a/+/c", "a/b/c", True),
        ("a/+/c", "a//c", True),
        ("a/+/#", "a", False),
        ("a/+/#", "a/b", True),
        ("+/#", "a", True),
        ("+", "a", True),
        ("+/$SYS", "a/$SYS", True),
    ],
)
def test_a_filter_matches_as_the_standard_requires(
    topic_filter: str, topic: str, expected: bool
) -> None:
    assert matches(topic_filter, topic) is expected


@pytest.mark.parametrize("topic", ["a", "/", "a//b", "$SYS/x", " ", "a" * 65_535, "é" * 32_767])
def test_a_topic_name_without_wildcards_is_valid(topic: str) -> None:
    assert validate_topic_name(topic) is None
    assert validate_topic_filter(topic) is None


@pytest.mark.parametrize(
    ("topic", "word"),
    [
        ("", "empty"),
        ("a\0b", "U+0000"),
        ("a/+", "wildcard"),
        ("#", "wildcard"),
        ("a+b", "wildcard"),
        ("a" * 65_536, "65536 bytes"),
        ("é" * 32_768, "65536 bytes"),
    ],
)
def test_a_wrong_topic_name_is_explained(topic: str, word: str) -> None:
    error = validate_topic_name(topic)
    assert error is not None
    assert word in error


@pytest.mark.parametrize("topic_filter", ["#", "+", "a/#", "+/+/#", "/+", "a/+/b", "+/a", "$SYS/#"])
def test_a_filter_with_wildcards_in_their_place_is_valid(topic_filter: str) -> None:
    assert validate_topic_filter(topic_filter) is None


@pytest.mark.parametrize(
    ("topic_filter", "word"),
    [
        ("", "empty"),
        ("a#", "'#'"),
        ("a/#/b", "'#'"),
        ("##", "'#'"),
        ("#/", "'#'"),
        ("sport/tennis#", "'#'"),
        ("sport+", "'+'"),
        ("++", "'+'"),
        ("a/b+/c", "'+'"),
        ("\0", "U+0000"),
        ("+" + "/" * 65_535, "65536 bytes"),
    ],
)
def test_a_wrong_filter_is_explained(topic_filter: str, word: str) -> None:
    error = validate_topic_filter(topic_filter)
    assert error is not None
    assert word in error


@pytest.mark.parametrize(
    ("topic_filter", "valid"),
    [
        ("$share/group/a/#", True),
        ("$share/g//", True),
        ("$share/group", False),
        ("$share/group/", False),
        ("$share//a", False),
        ("$share/g+/a", False),
        ("$share/#/a", False),
        ("$share/g/a#", False),
    ],
)
def test_a_shared_filter_has_a_name_and_a_filter(topic_filter: str, valid: bool) -> None:
    assert (validate_shared_filter(topic_filter) is None) is valid
