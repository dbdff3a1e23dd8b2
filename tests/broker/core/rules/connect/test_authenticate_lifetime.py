"""Logins that expire, groups that an authentication brings, and exchanges that end early."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.permissions import AccessRules
from gateway.broker.core.permissions import Client as Asking
from gateway.broker.wire.packets import Auth, Connack, Connect, Disconnect, Packet, Publish, Will
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.mqtt5 import end_of, subscriber
from tests.broker.core.rules.connect.test_authenticate import METHOD, asked, auth, hello


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    made = Harness(tmp_path)
    made.broker.core.methods = [METHOD]
    yield made
    made.close()


def accept(
    harness: Harness,
    client: Client,
    lifetime_seconds: float | None,
    *groups: str,
) -> list[Packet]:
    made = AuthenticationAnswer(0, None, "anna", "", lifetime_seconds, frozenset(groups))
    asked(harness)
    harness.broker.authenticated(client.connection, made, harness.now)
    harness.commit()
    return client.take()


def test_a_client_is_let_in_for_a_time_and_then_its_will_goes_out(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "gone", 1)
    client = hello(harness, will=Will("gone", b"w", 1, False))
    accept(harness, client, 30.0)
    harness.advance(29.0)
    assert not client.closed
    harness.advance(2.0)
    harness.commit()
    assert end_of(client) == 0xA0
    assert payloads(watch.take()) == [b"w"]
    assert harness.broker.statistics.errors == {"credentials_expired": 1}


def test_a_proof_in_auth_moves_the_end(harness: Harness) -> None:
    client = hello(harness)
    accept(harness, client, 30.0)
    client.send(auth(0x19, b"again"))
    (done,) = accept(harness, client, 100.0)
    assert isinstance(done, Auth)
    harness.advance(99.0)
    assert not client.closed
    harness.advance(2.0)
    assert client.closed


def test_without_a_time_a_client_stays(harness: Harness) -> None:
    client = hello(harness)
    accept(harness, client, None)
    harness.advance(10_000_000.0)
    assert not client.closed


def test_a_client_that_left_has_no_end_any_more(harness: Harness) -> None:
    client = hello(harness)
    accept(harness, client, 30.0)
    client.send(Disconnect(0))
    harness.commit()
    harness.advance(31.0)
    assert harness.broker.statistics.errors == {}


class OfWriters(AccessRules):
    """Rules that let members of the group `writers` publish, and members of `readers` receive."""

    def may_publish(self, client: Asking, topic: str, qos: int, retain: bool) -> bool:
        return "writers" in client.groups

    def may_receive(self, client: Asking, topic: str) -> bool:
        return client.username is None or "readers" in client.groups


def test_groups_are_those_of_the_last_proof(harness: Harness) -> None:
    harness.broker.restrict(OfWriters())
    client = hello(harness)
    accept(harness, client, None, "writers")

    def refused(packet_id: int) -> bool:
        before = harness.broker.statistics.errors.get("publish_not_authorized", 0)
        client.send(Publish("t", b"x", 1, False, False, packet_id))
        harness.commit()
        client.take()
        return harness.broker.statistics.errors.get("publish_not_authorized", 0) > before

    assert not refused(1)
    client.send(auth(0x19, b"again"))
    accept(harness, client, None, "readers")
    assert refused(2)
    assert harness.session("c").groups == {"readers"}


def test_an_exchange_can_end_while_its_client_is_asked(harness: Harness) -> None:
    client = hello(harness)
    asked(harness)
    harness.broker.authenticated(
        client.connection, AuthenticationAnswer(0x18, b"challenge", None), harness.now
    )
    harness.commit()
    client.take()
    harness.broker.authenticated(
        client.connection, AuthenticationAnswer(0x89, None, None, "no place"), harness.now
    )
    harness.commit()
    assert client.take() == [Connack(False, 0x89)]
    assert client.closed
    assert harness.broker.statistics.errors == {"server_busy": 1}


@pytest.mark.parametrize("is_anonymous", [True, False])
def test_a_password_without_a_name_is_asked_about_where_a_proof_is_needed(
    harness: Harness, is_anonymous: bool
) -> None:
    harness.broker.core.authenticates = True
    client = harness.open_connection(5, anonymous=is_anonymous)
    client.send(Connect(5, "c", True, 0, None, None, b"token"))
    harness.commit()
    if is_anonymous:
        assert isinstance(client.take()[0], Connack)
    else:
        request = asked(harness)
        assert (request.username, request.password, request.method) == ("", b"token", None)
