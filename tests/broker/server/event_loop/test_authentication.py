"""SCRAM-SHA-256 over a real socket: exchanges, re-authentication, and packets at the wrong time.

Section 4.12 of MQTT 5.0 and section 5 of RFC 5802.
"""

import asyncio
import os
import signal
import time

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.broker.core.sessions.connection import ConnectionState
from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Publish,
    Subscribe,
    Subscription,
)
from tests.broker.access.scram_client import ScramClient
from tests.broker.server.event_loop.authenticating import ITERATIONS, Broker, alice, is_alive
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.packet_client import METHOD, data_of, properties_of

# -- CONNECT


@pytest.mark.statement("MQTT5-4.12.0-2", "MQTT5-4.12.0-5")
async def test_a_client_and_the_broker_prove_to_each_other_that_they_know_the_password(
    broker: Broker,
) -> None:
    async with await broker.open() as client:
        await client.log_in(alice())
        assert await is_alive(client)
        assert broker.exchange_count == 0
        (connection,) = broker.connections()
        assert connection.username == "alice"


async def test_a_client_that_sends_no_data_first_is_asked_for_it(broker: Broker) -> None:
    async with await broker.open() as client:
        client.connect(None)
        assert await client.challenge() == b""
        scram = alice()
        client.auth(0x18, scram.first())
        client.auth(0x18, scram.final(await client.challenge()))
        connack = await client.receive()
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0
        assert scram.trusts(data_of(connack))


@pytest.mark.statement("MQTT5-4.12.0-4")
@pytest.mark.parametrize(("username", "password"), [("alice", "wrong"), ("nobody", "secret")])
async def test_a_wrong_password_and_an_unknown_user_are_refused_alike(
    broker: Broker, username: str, password: str
) -> None:
    scram = ScramClient(username, password, "nonce")
    async with await broker.open() as client:
        client.connect(scram.first())
        client.auth(0x18, scram.final(await client.challenge()))
        assert (scram.iterations, len(scram.salt)) == (ITERATIONS, 16)
        assert await client.ending() == 0x86
    await broker.quiet()
    assert broker.errors == {"bad_user_name_or_password": 1}


async def test_an_exchange_that_was_overheard_is_worth_nothing(broker: Broker) -> None:
    scram = alice()
    async with await broker.open() as client:
        client.connect(scram.first())
        overheard = scram.final(await client.challenge())
        client.auth(0x18, overheard)
        assert isinstance(await client.receive(), Connack)
    async with await broker.open() as thief:
        thief.connect(scram.first())
        await thief.challenge()
        thief.auth(0x18, overheard)
        assert await thief.ending() == 0x87


@pytest.mark.statement("MQTT5-4.12.0-1")
@pytest.mark.parametrize("method", ["SCRAM-SHA-1", "scram-sha-256", ""])
async def test_a_method_that_is_not_known_is_refused(broker: Broker, method: str) -> None:
    async with await broker.open() as client:
        client.connect(alice().first(), method=method)
        assert await client.ending() == 0x8C
    assert broker.errors == {"bad_authentication_method": 1}


async def test_a_malformed_message_is_refused_and_the_log_states_what_was_wrong(
    broker: Broker,
) -> None:
    async with await broker.open() as client:
        client.connect(b"\xff\xfe")
        assert await client.ending() == 0x87
    await broker.quiet()
    assert broker.errors == {"not_authorized": 1}


@pytest.mark.statement("MQTT5-4.12.0-5")
async def test_auth_with_another_method_ends_the_connection(broker: Broker) -> None:
    scram = alice()
    async with await broker.open() as client:
        client.connect(scram.first())
        client.auth(0x18, scram.final(await client.challenge()), method="OTHER")
        assert await client.ending() is None
    await broker.quiet()
    assert broker.errors == {"protocol_violation": 1}


async def test_reauthenticating_before_being_let_in_is_out_of_turn(broker: Broker) -> None:
    async with await broker.open() as client:
        client.connect(alice().first())
        await client.challenge()
        client.auth(0x19, alice().first())
        assert await client.ending() is None
    await broker.quiet()
    assert broker.errors == {"protocol_violation": 1}


@pytest.mark.statement("MQTT5-4.12.0-6")
async def test_auth_from_a_client_without_a_method_ends_the_connection(broker: Broker) -> None:
    async with await broker.open() as client:
        client.connect(None, method=None, username="alice", password=b"secret")
        connack = await client.receive()
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0
        assert connack.properties is None or connack.properties.authentication_method is None
        client.auth(0x19, alice().first())
        assert await client.ending() == 0x82


async def test_a_user_name_beside_the_method_changes_nothing(broker: Broker) -> None:
    scram = alice()
    async with await broker.open() as client:
        client.connect(scram.first(), username="bob", password=b"secret")
        client.auth(0x18, scram.final(await client.challenge()))
        assert isinstance(await client.receive(), Connack)
        (connection,) = broker.connections()
        assert connection.username == "alice"


async def test_a_client_identifier_in_use_is_not_given_to_another_user(broker: Broker) -> None:
    async with await broker.open() as first, await broker.open() as second:
        await first.log_in(alice())
        bob = ScramClient("bob", "secret", "n-bob")
        second.connect(bob.first())
        second.auth(0x18, bob.final(await second.challenge()))
        assert await second.ending() == 0x87
        assert await is_alive(first)


# -- packets that arrive while authentication is in progress


async def test_a_packet_other_than_auth_before_connack_ends_the_connection(broker: Broker) -> None:
    async with await broker.open() as client:
        client.connect(alice().first())
        await client.challenge()
        client.send(Pingreq())
        assert await client.ending() is None
    await broker.quiet()
    assert broker.errors == {"protocol_violation": 1}


async def test_what_comes_with_connect_in_one_segment_waits_for_the_check(broker: Broker) -> None:
    async with await broker.open() as client:
        properties = properties_of(METHOD, alice().first())
        connect = Connect(5, "c", True, 0, None, None, None, properties)
        client.send(connect, Disconnect(0))
        await client.challenge()
        assert await client.receive() is None
    await broker.quiet()
    assert broker.errors == {}


async def test_packets_behind_the_last_auth_are_served_once_the_client_is_in(
    broker: Broker,
) -> None:
    scram = alice()
    async with await broker.open() as client:
        client.connect(scram.first())
        final = Auth(0x18, properties_of(METHOD, scram.final(await client.challenge())))
        publish = Publish("t", b"x", 1, False, False, 7)
        client.send(final, Subscribe(1, [Subscription("t", 0)]), publish, Pingreq())
        kinds = [type(await client.receive()).__name__ for _ in range(5)]
        assert kinds[0] == "Connack"
        assert sorted(kinds[1:]) == ["Pingresp", "Puback", "Publish", "Suback"]


async def test_reading_pauses_for_a_check_and_goes_on_for_the_clients_answer(
    broker: Broker,
) -> None:
    async with await broker.open() as client:
        client.connect(None, method=None, username="alice", password=b"secret")
        deadline = time.monotonic() + DEADLINE_SECONDS
        while (
            not broker.connections()
            or broker.connections()[0].state is not ConnectionState.AUTHENTICATING
        ):
            assert time.monotonic() < deadline
            await asyncio.sleep(0)
        assert not broker.is_reading()
        await client.receive()
        assert broker.is_reading()
    await broker.quiet()
    async with await broker.open() as client:
        client.connect(alice().first())
        await client.challenge()
        assert [each.state for each in broker.connections()] == [ConnectionState.AWAITING_AUTH]
        assert broker.is_reading()


# -- the users change


async def test_sighup_reads_the_users_again(broker: Broker) -> None:
    set_password(broker.passwords, "carol", b"new", scram_iterations=ITERATIONS)
    set_password(broker.passwords, "dora", b"new")
    os.kill(os.getpid(), signal.SIGHUP)
    deadline = time.monotonic() + DEADLINE_SECONDS
    code = -1
    while code:
        assert time.monotonic() < deadline, "the new user was never let in"
        async with await broker.open() as client:
            client.connect(None, method=None, username="dora", password=b"new")
            connack = await client.receive()
            assert isinstance(connack, Connack)
            code = connack.reason_code
    async with await broker.open() as client:
        await client.log_in(ScramClient("carol", "new", "nonce"))


async def test_a_damaged_password_file_leaves_the_users_as_they_were(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.passwords.write_text("oops\n")
    broker.running.reloading.reload_on_signal()
    assert "line 1: is not USER:HASH" in caplog.text
    async with await broker.open() as client:
        await client.log_in(alice())


async def test_a_reload_shows_whether_there_are_other_users(broker: Broker) -> None:
    assert broker.running.reloading.reload()["changed"] == []
    set_password(broker.passwords, "alice", b"new", scram_iterations=ITERATIONS)
    assert broker.running.reloading.reload()["changed"] == ["access.password_file"]
