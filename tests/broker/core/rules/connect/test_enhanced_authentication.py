"""AUTH packets in the core (5.0 section 4.12); the test plays the authenticator."""

from pathlib import Path

import pytest

from gateway.broker.core.effects import AuthenticationAnswer, AuthenticationRequest
from gateway.broker.core.sessions.connection import ConnectionState
from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Properties,
)
from tests.broker.core.harness import Client, Harness

METHOD = "RIDDLE"


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    harness = Harness(tmp_path)
    harness.broker.core.methods = [METHOD]
    return harness


def auth(code: int, data: bytes, method: str = METHOD) -> Auth:
    properties = Properties()
    properties.authentication_method = method
    properties.authentication_data = data
    return Auth(code, properties)


def connecting(harness: Harness, *, maximum_packet_size_bytes: int | None = None) -> Client:
    """Return a client whose CONNECT began an authentication exchange."""
    client = harness.open_connection(5)
    properties = Properties()
    properties.authentication_method = METHOD
    properties.authentication_data = b"first"
    properties.maximum_packet_size_bytes = maximum_packet_size_bytes
    client.send(Connect(5, "c", True, 0, None, None, None, properties))
    return client


def asked(harness: Harness) -> AuthenticationRequest:
    """Return the only request that the core has for the authenticator."""
    (request,) = harness.broker.effects.take_logins()
    return request


def answer(harness: Harness, client: Client, *fields: object) -> list[Packet]:
    """Answer the core's request; return what the client receives."""
    harness.broker.authenticated(client.connection, AuthenticationAnswer(*fields), harness.now)  # type: ignore[arg-type]
    harness.commit()
    return client.take()


def admitted(harness: Harness) -> Client:
    """Return a client that is connected as the user alice."""
    client = connecting(harness)
    asked(harness)
    assert isinstance(answer(harness, client, 0, b"last", "alice")[0], Connack)
    return client


def test_a_client_may_disconnect_in_the_middle_of_its_authentication(harness: Harness) -> None:
    client = connecting(harness)
    asked(harness)
    answer(harness, client, 0x18, b"riddle", None)
    assert client.connection.state is ConnectionState.AWAITING_AUTH
    client.send(Disconnect(0))
    assert client.closed
    assert harness.broker.statistics.errors == {}


@pytest.mark.statement("MQTT5-3.1.2-24")
def test_a_challenge_that_exceeds_the_maximum_packet_size_is_not_sent(harness: Harness) -> None:
    client = connecting(harness, maximum_packet_size_bytes=40)
    asked(harness)
    assert answer(harness, client, 0x18, bytes(100), None) == []
    assert client.closed
    assert harness.broker.statistics.errors == {"answer_too_large": 1}


def test_a_busy_authenticator_receives_a_code_of_its_own(harness: Harness) -> None:
    client = connecting(harness)
    asked(harness)
    (connack,) = answer(harness, client, 0x89, None, None, "too many")
    assert isinstance(connack, Connack)
    assert connack.reason_code == 0x89
    assert harness.broker.statistics.errors == {"server_busy": 1}
    assert harness.broker.statistics.notices[-1][0].endswith("server_busy: too many")


@pytest.mark.statement("MQTT5-4.12.1-2")
@pytest.mark.parametrize(
    ("said", "reason_code"),
    [((0x86, None, None), 0x87), ((0x89, None, None), 0x89), ((0, b"", "mallory"), 0x87)],
)
def test_a_failed_reauthentication_ends_with_a_code_that_disconnect_knows(
    harness: Harness, said: tuple[object, ...], reason_code: int
) -> None:
    client = admitted(harness)
    client.send(auth(0x19, b"again"))
    request = asked(harness)
    assert (request.is_first, request.data) == (True, b"again")
    (disconnect,) = answer(harness, client, *said)
    assert isinstance(disconnect, Disconnect)
    assert disconnect.reason_code == reason_code
    assert client.closed


def test_a_client_is_served_while_it_reauthenticates(harness: Harness) -> None:
    client = admitted(harness)
    client.send(auth(0x19, b"again"))
    asked(harness)
    client.send(Pingreq())
    assert [type(packet) for packet in answer(harness, client, 0x18, b"riddle", None)] == [
        Pingresp,
        Auth,
    ]
    client.send(auth(0x18, b"solved"))
    assert not asked(harness).is_first
    (success,) = answer(harness, client, 0, b"last", "alice")
    assert isinstance(success, Auth)
    assert success.reason_code == 0
    assert not client.closed


@pytest.mark.parametrize("code", [0x18, 0x19])
def test_auth_while_the_last_one_is_being_checked_is_out_of_turn(
    harness: Harness, code: int
) -> None:
    client = admitted(harness)
    client.send(auth(0x19, b"again"))
    client.send(auth(code, b"and again"))
    assert client.closed
    assert harness.broker.statistics.errors == {"protocol_violation": 1}
