"""SCRAM-SHA-256 over a real socket: whole exchanges, re-authentication, and everything out of turn.

Section 4.12 of MQTT 5.0 and section 5 of RFC 5802.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import gateway.server.event_loop.authentication as server_authentication
from gateway.access.passwords import set_password
from gateway.configuration import Configuration, load
from gateway.core.sessions.connection import Connection, ConnectionState
from gateway.server.listeners.stream import MqttProtocol
from gateway.server.main import Running
from gateway.wire.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Publish,
    Subscribe,
    Subscription,
    Will,
)
from tests.access.scram_client import ScramClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.packet_client import METHOD, PacketClient, data_of, properties_of

ITERATIONS = 4_096


class Broker:
    """A broker in this process with the users alice and bob, whose passwords are `secret`."""

    def __init__(self, running: Running, passwords: Path) -> None:
        self.running = running
        self.passwords = passwords
        self.port: int = running.listening.shown[0]["port"]

    @property
    def exchange_count(self) -> int:
        return self.running.event_loop.authentications.exchange_count

    @property
    def errors(self) -> dict[str, int]:
        return self.running.event_loop.broker.statistics.errors

    def connections(self) -> list[Connection]:
        return list(self.running.event_loop.channels)

    def is_reading(self) -> bool:
        (protocol,) = self.running.event_loop.channels.values()
        assert isinstance(protocol, MqttProtocol)
        return protocol.transport.is_reading()

    async def open(self) -> PacketClient:
        return await PacketClient.open(self.port)

    async def quiet(self) -> None:
        """Wait until every connection is gone and nothing of it is left."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.connections():
            assert time.monotonic() < deadline, "a connection outlived its client"
            await asyncio.sleep(0)
        assert self.exchange_count == 0


@pytest.fixture
def passwords(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    for username in ("alice", "bob"):
        set_password(path, username, b"secret", scram_iterations=ITERATIONS)
    return path


@pytest_asyncio.fixture
async def broker(
    tmp_path: Path, passwords: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Broker]:
    settings = {
        "gateway.data_dir": tmp_path / "data",
        "access.password_file": passwords,
        "listeners": [{"port": 0, "anonymous": False}],
        **getattr(request, "param", {}),
    }

    def configuration() -> Configuration:
        return load(None, {}, settings, None)

    stop = asyncio.Event()
    running = await Running.start(configuration(), configuration)
    ticking = asyncio.create_task(running.until(stop))
    try:
        yield Broker(running, passwords)
    finally:
        stop.set()
        await ticking
        await running.stop()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
    assert running.event_loop.committer.failure is None


def alice(nonce: str = "n-alice") -> ScramClient:
    return ScramClient("alice", "secret", nonce)


async def is_alive(client: PacketClient) -> bool:
    client.send(Pingreq())
    return isinstance(await client.receive(), Pingresp)


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


async def test_a_malformed_message_is_refused_and_the_log_says_what_was_wrong(
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


# -- what comes while authentication waits


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


# -- re-authentication


async def test_a_client_reauthenticates_and_is_served_meanwhile(broker: Broker) -> None:
    async with await broker.open() as client:
        await client.log_in(alice())
        for turn in range(3):
            scram = alice(nonce=f"again-{turn}")
            client.auth(0x19, scram.first())
            challenge = await client.challenge()
            assert await is_alive(client)
            client.auth(0x18, scram.final(challenge))
            success = await client.receive()
            assert isinstance(success, Auth)
            assert success.reason_code == 0
            assert scram.trusts(data_of(success))
            assert broker.exchange_count == 0


@pytest.mark.statement("MQTT5-4.12.1-2")
@pytest.mark.parametrize(("username", "password"), [("bob", "secret"), ("alice", "wrong")])
async def test_reauthentication_as_another_user_or_without_the_password_ends_the_connection(
    broker: Broker, username: str, password: str
) -> None:
    async with await broker.open() as watcher, await broker.open() as client:
        await watcher.log_in(alice(), client_id="watcher")
        watcher.send(Subscribe(1, [Subscription("gone", 0)]))
        await watcher.receive()
        scram = alice()
        client.connect(scram.first(), will=Will("gone", b"c", 0, False))
        client.auth(0x18, scram.final(await client.challenge()))
        assert isinstance(await client.receive(), Connack)
        again = ScramClient(username, password, "again")
        client.auth(0x19, again.first())
        client.auth(0x18, again.final(await client.challenge()))
        assert await client.ending() == 0x87
        will = await watcher.receive()
        assert isinstance(will, Publish)
        assert will.payload == b"c"
    await broker.quiet()


async def test_reauthentication_by_another_method_ends_the_connection(broker: Broker) -> None:
    async with await broker.open() as client:
        await client.log_in(alice())
        client.auth(0x19, alice().first(), method="OTHER")
        assert await client.ending() == 0x82


async def test_an_answer_without_a_question_is_out_of_turn(broker: Broker) -> None:
    async with await broker.open() as client:
        await client.log_in(alice())
        client.auth(0x18, alice().first())
        assert await client.ending() == 0x82


async def test_beginning_anew_in_the_middle_of_reauthentication_is_out_of_turn(
    broker: Broker,
) -> None:
    async with await broker.open() as client:
        await client.log_in(alice())
        client.auth(0x19, alice().first())
        await client.challenge()
        client.auth(0x19, alice().first())
        assert await client.ending() == 0x82
    await broker.quiet()


# -- bounds


@pytest.mark.parametrize("broker", [{"mqtt.connect_timeout": "200ms"}], indirect=True)
async def test_a_client_that_does_not_answer_is_let_go(broker: Broker) -> None:
    async with await broker.open() as client:
        client.connect(alice().first())
        await client.challenge()
        assert await client.ending() is None
    await broker.quiet()
    assert broker.errors == {"connect_timeout": 1}


@pytest.mark.parametrize("broker", [{"mqtt.connect_timeout": "200ms"}], indirect=True)
async def test_a_client_that_does_not_finish_reauthentication_is_let_go(broker: Broker) -> None:
    async with await broker.open() as client:
        await client.log_in(alice())
        client.auth(0x19, alice().first())
        await client.challenge()
        assert await client.ending() == 0x87
    await broker.quiet()


async def test_exchanges_are_bounded_and_end_with_their_connections(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_authentication, "EXCHANGES_MAX", 2)
    async with await broker.open() as first, await broker.open() as second:
        for client in (first, second):
            client.connect(alice().first())
            await client.challenge()
        assert broker.exchange_count == 2
        async with await broker.open() as third:
            third.connect(alice().first())
            assert await third.ending() == 0x89
        assert broker.errors == {"server_busy": 1}
        first.finish()
        assert await first.receive() is None
        async with await broker.open() as fourth:
            await fourth.log_in(alice())
    await broker.quiet()


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


async def test_a_reload_says_whether_there_are_other_users(broker: Broker) -> None:
    assert broker.running.reloading.reload() == {"changed": [], "needs_restart": []}
    set_password(broker.passwords, "alice", b"new", scram_iterations=ITERATIONS)
    assert broker.running.reloading.reload()["changed"] == ["access.password_file"]
