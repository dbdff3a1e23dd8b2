"""A session belongs to a user: who may resume it, and who may not."""

import pytest

from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Subscription,
)
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.mqtt5 import (
    NEVER,
    connack_of,
    connect,
    properties,
    publish,
    subscribe,
    subscriber,
)
from tests.broker.core.owned import log_in


def test_a_takeover_by_another_user_is_refused(harness: Harness) -> None:
    first = connect_as(harness, "alice")
    second = connect_as(harness, "bob")
    assert connack_of(second) == Connack(False, 0x87)
    assert second.closed
    assert not first.closed


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("clean", [False, True])
def test_a_session_whose_client_is_away_is_not_given_to_another_user(
    harness: Harness, clean: bool, cut: bool
) -> None:
    alice = connect_as(harness, "alice")
    subscribe(harness, alice, Subscription("t", 1))
    harness.lose(alice)
    publish(harness, connect(harness, "p"), "t", b"for alice alone")
    for _ in range(2):
        if cut:
            harness.cut()
        bob = connect_as(harness, "bob", clean=clean)
        assert bob.take() == [Connack(False, 0x87)]
        harness.checkpoint()
    assert payloads(connect_as(harness, "alice").take()) == [b"for alice alone"]


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("clean", [False, True])
def test_a_session_without_a_user_does_not_pass_to_the_first_who_names_it(
    harness: Harness, clean: bool, cut: bool
) -> None:
    anonymous = subscriber(harness, "c", "t", 1)
    assert connect_as(harness, "alice", clean=clean).take() == [Connack(False, 0x87)]
    assert not anonymous.closed
    harness.lose(anonymous)
    publish(harness, connect(harness, "p"), "t", b"for nobody in particular")
    if cut:
        harness.cut()
    assert connect_as(harness, "alice", clean=clean).take() == [Connack(False, 0x87)]
    assert payloads(connect(harness, "c").take()) == [b"for nobody in particular"]


@pytest.mark.parametrize("clean", [False, True])
def test_a_session_of_a_user_does_not_pass_to_a_client_that_names_none(
    harness: Harness, clean: bool
) -> None:
    alice = connect_as(harness, "alice")
    subscribe(harness, alice, Subscription("t", 1))
    for _ in range(2):
        thief = harness.open_connection(5)
        thief.send(Connect(5, "c", clean, 0, None, None, None))
        harness.commit()
        assert thief.take() == [Connack(False, 0x87)]
        harness.lose(alice)
    publish(harness, connect(harness, "p"), "t", b"for alice alone")
    assert payloads(connect_as(harness, "alice").take()) == [b"for alice alone"]


def test_a_session_that_the_operator_gives_to_a_user_is_that_user_s(harness: Harness) -> None:
    harness.lose(connect(harness, "c"))
    harness.broker.core.authenticates = True
    harness.broker.assign_owner(harness.session("c"), "alice")
    harness.commit()
    harness.cut()
    assert connect_as(harness, "bob").take() == [Connack(False, 0x87)]
    assert connack_of(connect_as(harness, "alice")).session_present


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("cut", [False, True])
def test_the_session_of_a_user_who_is_gone_keeps_its_client_id_until_it_is_dropped(
    harness: Harness, version: int, cut: bool
) -> None:
    alice = log_in(harness, "alice", "c", version=version)
    subscribe(harness, alice, Subscription("t", 1))
    publish(harness, connect(harness, "p"), "t", b"for alice alone")
    harness.lose(alice)
    harness.broker.deny_removed_users(frozenset({"bob"}), frozenset())
    if cut:
        harness.cut()
        harness.broker.deny_removed_users(frozenset({"bob"}), frozenset())
    for clean in (True, False):
        bob = log_in(harness, "bob", "c", clean=clean, version=version)
        assert connack_of(bob).reason_code == (0x87 if version == 5 else 5)
    harness.broker.drop_session(harness.session("c"), harness.now)
    harness.commit()
    bob = log_in(harness, "bob", "c", version=version)
    assert (
        bob.take() == [Connack(False, 0)] if version == 4 else not connack_of(bob).session_present
    )
    assert harness.session("c").username == "bob"
    assert harness.session("c").queued_count == 0


def connect_as(harness: Harness, username: str, *, clean: bool = False) -> Client:
    """Connect the client `c` as a user whose password is right."""
    harness.broker.core.authenticates = True
    client = harness.open_connection(5)
    never = properties(session_expiry_interval_seconds=NEVER)
    client.send(Connect(5, "c", clean, 0, None, username, b"secret", never))
    for request in harness.broker.effects.take_logins():
        answer = AuthenticationAnswer(0, None, request.username)
        harness.broker.authenticated(request.connection, answer, harness.now)
    harness.commit()
    return client
