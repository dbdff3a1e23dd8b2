"""Enhanced authentication in the core (5.0 section 4.12), with a scripted authenticator."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.core.effects import AuthenticationAnswer, AuthenticationRequest
from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Publish,
    Will,
)
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.mqtt5 import connack_of, connect, end_of, properties, subscriber

METHOD = "SCRIPTED"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    made = Harness(tmp_path)
    made.broker.core.methods = [METHOD]
    yield made
    made.close()


def auth(code: int, data: bytes | None = None, method: str | None = METHOD) -> Auth:
    given: dict[str, object] = {}
    if method is not None:
        given["authentication_method"] = method
    if data is not None:
        given["authentication_data"] = data
    return Auth(code, properties(**given))


def hello(
    harness: Harness, client_id: str = "c", method: str = METHOD, will: Will | None = None
) -> Client:
    """Send a CONNECT that names an authentication method."""
    client = harness.open_connection(5)
    asked = properties(authentication_method=method, authentication_data=b"first")
    client.send(Connect(5, client_id, False, 0, will, None, None, asked))
    harness.commit()
    return client


def asked(harness: Harness) -> AuthenticationRequest:
    """Return the only request that the core has for the authenticator."""
    (request,) = harness.broker.effects.take_logins()
    return request


def answer(
    harness: Harness,
    client: Client,
    code: int,
    data: bytes | None = None,
    username: str | None = None,
) -> list[Packet]:
    """Answer the core's request as the event loop does; return what the client receives."""
    made = AuthenticationAnswer(code, data, username)
    harness.broker.authenticated(client.connection, made, harness.now)
    harness.commit()
    return client.take()


def let_in(harness: Harness, username: str = "alice") -> Client:
    client = hello(harness)
    asked(harness)
    answer(harness, client, 0, None, username)
    return client


@pytest.mark.statement("MQTT5-4.12.0-2", "MQTT5-4.12.0-5", "MQTT5-3.15.2-1")
def test_an_exchange_goes_on_until_the_authenticator_is_satisfied(harness: Harness) -> None:
    client = hello(harness)
    request = asked(harness)
    assert (request.method, request.data, request.is_first) == (METHOD, b"first", True)
    assert answer(harness, client, 0x18, b"challenge") == [auth(0x18, b"challenge")]
    client.send(auth(0x18, b"second"))
    request = asked(harness)
    assert (request.method, request.data, request.is_first) == (METHOD, b"second", False)
    (connack,) = answer(harness, client, 0, b"proof", "alice")
    assert isinstance(connack, Connack)
    assert connack.reason_code == 0
    assert connack.properties is not None
    assert connack.properties.authentication_method == METHOD
    assert connack.properties.authentication_data == b"proof"
    assert client.connection.username == "alice"


@pytest.mark.statement("MQTT5-4.12.0-1", "MQTT5-3.2.2-7")
def test_a_method_that_the_broker_does_not_know_is_refused(harness: Harness) -> None:
    client = hello(harness, method="GUESS")
    assert connack_of(client) == Connack(False, 0x8C)
    assert client.closed
    assert harness.broker.effects.take_logins() == []


@pytest.mark.statement("MQTT5-4.12.0-4", "MQTT5-3.1.4-2")
@pytest.mark.parametrize("code", [0x86, 0x87])
def test_a_client_that_fails_is_refused_and_leaves_nothing(harness: Harness, code: int) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    client = hello(harness, will=Will("w", b"gone", 1, False))
    asked(harness)
    answer(harness, client, 0x18, b"challenge")
    client.send(auth(0x18, b"wrong"))
    asked(harness)
    assert answer(harness, client, code) == [Connack(False, code)]
    assert client.closed
    assert "c" not in harness.broker.state.sessions
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-4.12.0-5", "MQTT5-4.12.0-6")
@pytest.mark.parametrize("when", ["during", "after", "never asked"])
def test_an_auth_of_another_method_ends_the_connection(harness: Harness, when: str) -> None:
    client = connect(harness, "c") if when == "never asked" else hello(harness)
    if when != "never asked":
        asked(harness)
        answer(harness, client, 0x18 if when == "during" else 0, b"", "alice")
    client.send(auth(0x18 if when == "during" else 0x19, b"x", "OTHER"))
    harness.commit()
    assert client.closed
    if when != "during":  # before CONNACK the broker sends no DISCONNECT
        assert end_of(client) == 0x82


@pytest.mark.parametrize("wrong", [Publish("w", b"x", 0, False, False, 0), auth(0x19, b"")])
def test_anything_but_the_next_auth_ends_an_exchange(harness: Harness, wrong: Packet) -> None:
    watch = subscriber(harness, "watch", "w", 0)
    client = hello(harness)
    asked(harness)
    answer(harness, client, 0x18, b"")
    client.send(wrong)
    harness.commit()
    assert client.closed
    assert client.take() == []
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-3.1.4-6")
def test_data_that_comes_while_the_answer_is_awaited_waits(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "w", 0)
    client = hello(harness)
    client.send(Publish("w", b"early", 0, False, False, 0), Disconnect(0))
    asked(harness)
    assert payloads(watch.take()) == []
    assert not client.closed
    answer(harness, client, 0, None, "alice")
    assert payloads(watch.take()) == [b"early"]
    assert client.closed


def test_data_that_came_too_early_is_dropped_with_a_refused_client(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "w", 0)
    client = hello(harness)
    client.send(Publish("w", b"early", 0, False, False, 0))
    asked(harness)
    answer(harness, client, 0x87)
    assert payloads(watch.take()) == []


def test_an_answer_for_a_client_that_has_gone_is_nothing(harness: Harness) -> None:
    client = hello(harness)
    asked(harness)
    harness.lose(client)
    answer(harness, client, 0, None, "alice")
    assert "c" not in harness.broker.state.sessions
    assert harness.broker.statistics.connections_open == 0


def test_an_exchange_that_is_never_finished_ends_after_the_connect_timeout(
    harness: Harness,
) -> None:
    client = hello(harness)
    asked(harness)
    answer(harness, client, 0x18, b"")
    harness.advance(harness.limits.connect_timeout_seconds + 1)
    assert client.closed


def test_re_authentication_leaves_the_connection_as_it_is(harness: Harness) -> None:
    client = let_in(harness)
    client.send(auth(0x19, b"again"), Publish("w", b"meanwhile", 0, False, False, 0))
    request = asked(harness)
    assert (request.data, request.is_first) == (b"again", True)
    assert answer(harness, client, 0x18, b"challenge") == [auth(0x18, b"challenge")]
    client.send(auth(0x18, b"second"))
    assert asked(harness).is_first is False
    assert answer(harness, client, 0, b"proof", "alice") == [auth(0, b"proof")]
    assert not client.closed
    assert harness.broker.statistics.received_qos0 == 1


@pytest.mark.statement("MQTT5-4.12.1-2")
@pytest.mark.parametrize(("code", "username"), [(0x87, None), (0, "mallory")])
def test_a_failed_re_authentication_or_one_as_another_ends_the_connection(
    harness: Harness, code: int, username: str | None
) -> None:
    client = let_in(harness)
    client.send(auth(0x19, b"again"))
    asked(harness)
    harness.broker.authenticated(
        client.connection, AuthenticationAnswer(code, None, username), harness.now
    )
    harness.commit()
    assert end_of(client) == 0x87


@pytest.mark.parametrize("wrong", [[auth(0x18, b"")], [auth(0x19, b""), auth(0x19, b"")]])
def test_an_auth_out_of_turn_ends_the_connection(harness: Harness, wrong: list[Packet]) -> None:
    client = let_in(harness)
    client.send(*wrong)
    harness.commit()
    assert end_of(client) == 0x82


def test_a_takeover_waits_for_the_authentication_of_the_second(harness: Harness) -> None:
    first = let_in(harness)
    second = hello(harness)
    asked(harness)
    assert not first.closed
    answer(harness, second, 0, None, "alice")
    assert first.closed
    assert not second.closed
    third = hello(harness)
    asked(harness)
    answer(harness, third, 0x87)
    assert not second.closed


def test_a_client_without_a_method_is_asked_for_nothing(harness: Harness) -> None:
    client = connect(harness, "c")
    harness.commit()
    answered = connack_of(client).properties
    assert answered is not None
    assert answered.authentication_method is None
    client.send(Publish("t", b"x", 0, False, False, 0))
    assert harness.broker.effects.take_logins() == []


# -- a user whose identity was proven before CONNECT


@pytest.mark.parametrize(("username", "code"), [("cellar", 0), ("roof", 0x87), (None, 0x87)])
def test_who_proves_a_user_twice_proves_the_same(
    harness: Harness, username: str | None, code: int
) -> None:
    client = harness.open_connection(5)
    client.connection.proven_user = "cellar"
    asked_for = properties(authentication_method=METHOD, authentication_data=b"first")
    client.send(Connect(5, "c", False, 0, None, None, None, asked_for))
    request = asked(harness)
    harness.broker.authenticated(
        request.connection, AuthenticationAnswer(0, None, username), harness.now
    )
    harness.commit()
    (connack,) = client.take()
    assert isinstance(connack, Connack)
    assert connack.reason_code == code


@pytest.mark.parametrize("username", [None, "roof"])
def test_a_proven_user_needs_no_password_and_is_the_session_s(
    harness: Harness, username: str | None
) -> None:
    harness.broker.core.authenticates = True
    client = harness.open_connection(4, anonymous=False)
    client.connection.proven_user = "cellar"
    client.send(Connect(4, "c", True, 0, None, username, None if username is None else b"x"))
    harness.commit()
    assert client.take() == [Connack(False, 0)]
    assert not harness.broker.effects.take_logins()
    assert harness.session("c").username == "cellar"


def test_a_proven_user_does_not_take_the_session_of_another(harness: Harness) -> None:
    harness.broker.core.authenticates = True
    for user, code in (("cellar", 0), ("roof", 5), ("cellar", 0)):
        client = harness.open_connection(4, anonymous=False)
        client.connection.proven_user = user
        client.send(Connect(4, "c", False, 0, None, None, None))
        harness.commit()
        (connack,) = client.take()
        assert isinstance(connack, Connack)
        assert connack.reason_code == code
