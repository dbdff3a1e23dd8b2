"""The users, clients and listeners that a rule applies to."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.rules.rule import (
    CONNECT,
    RECEIVE,
    ClientConditions,
    ClientPattern,
    publish_kind,
    subscribe_kind,
)


def test_every_question_has_a_bit_of_its_own() -> None:
    kinds = [publish_kind(qos, retain) for qos in range(3) for retain in (False, True)]
    kinds += [subscribe_kind(qos) for qos in range(3)] + [RECEIVE, CONNECT]
    assert len(set(kinds)) == len(kinds) == 11
    assert sum(kinds) == (1 << 11) - 1


@given(st.text("ab*", max_size=6), st.text("abc", max_size=8))
def test_a_star_stands_for_any_characters(pattern: str, name: str) -> None:
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert ClientPattern(pattern).matches(name) == (re.fullmatch(expression, name) is not None)


def about(
    who: ClientConditions, username: str | None = None, client_id: str = "c", listener: str = "l"
) -> bool:
    return who.applies_to(username=username, client_id=client_id, listener=listener)


@pytest.mark.parametrize(
    ("who", "users"),
    [
        (ClientConditions(), {None, "anna", "ben"}),
        (ClientConditions(user="anna"), {"anna"}),
        (ClientConditions(named=True), {"anna", "ben"}),
        (ClientConditions(named=False), {None}),
        (ClientConditions(members=frozenset({"ben"})), {"ben"}),
    ],
)
def test_users(who: ClientConditions, users: set[str | None]) -> None:
    assert {each for each in (None, "anna", "ben") if about(who, each)} == users


def test_all_conditions_have_to_hold() -> None:
    who = ClientConditions(
        user="anna", client=ClientPattern("sensor-*"), listener=ClientPattern("127.*")
    )
    assert about(who, "anna", "sensor-1", "127.0.0.1:1883")
    assert not about(who, "ben", "sensor-1", "127.0.0.1:1883")
    assert not about(who, "anna", "other", "127.0.0.1:1883")
    assert not about(who, "anna", "sensor-1", "0.0.0.0:1883")


@pytest.mark.parametrize(
    ("pattern", "user", "client_id", "fits"),
    [
        ("%u", "ann", "ann", True),
        ("%u.*", "ann", "ann.attic", True),
        ("%u.*", "ann", "mallory.attic", False),
        ("%u.*", None, ".attic", False),
        ("%u", "", "", False),
        ("%u.*", "a*", "abc.attic", False),
        ("%u.*", "a*", "a*.attic", True),
        ("*-%u", "ann", "attic-ann", True),
    ],
)
def test_a_client_identifier_may_be_bound_to_its_user(
    pattern: str, user: str | None, client_id: str, fits: bool
) -> None:
    assert about(ClientConditions(client=ClientPattern(pattern)), user, client_id) is fits


def test_a_listener_that_is_not_known_is_any_for_a_session_without_a_user_and_none_with_one() -> (
    None
):
    who = ClientConditions(listener=ClientPattern("127.0.0.1:1883"))
    assert about(who, None, listener="")
    assert not about(who, "anna", listener="")


def test_a_token_makes_members_of_a_group() -> None:
    who = ClientConditions(members=frozenset({"ben"}), group="writers")

    def applies_to(username: str | None, *groups: str) -> bool:
        return who.applies_to(
            username=username, client_id="", listener="", groups=frozenset(groups)
        )

    assert applies_to("ben")
    assert applies_to("anna", "readers", "writers")
    assert not applies_to("anna", "readers")
    assert not ClientConditions(members=frozenset({"ben"})).applies_to(
        username="anna", client_id="", listener="", groups=frozenset({"ben"})
    )
