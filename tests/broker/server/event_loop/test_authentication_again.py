"""Re-authentication, and the limits for exchanges: their duration and their number.

Section 4.12.1 of MQTT 5.0.
"""

import pytest

from gateway.broker.server.event_loop import exchanges
from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Publish,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.access.scram_client import ScramClient
from tests.broker.server.event_loop.authenticating import Broker, alice, is_alive
from tests.peers.packet_client import data_of

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


async def test_beginning_again_in_the_middle_of_reauthentication_is_out_of_turn(
    broker: Broker,
) -> None:
    async with await broker.open() as client:
        await client.log_in(alice())
        client.auth(0x19, alice().first())
        await client.challenge()
        client.auth(0x19, alice().first())
        assert await client.ending() == 0x82
    await broker.quiet()


# -- limits


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
    monkeypatch.setattr(exchanges, "EXCHANGES_MAX", 2)
    async with await broker.open() as first, await broker.open() as second:
        for client in (first, second):
            client.connect(alice().first())
            await client.challenge()
        assert broker.exchange_count == 2
        async with await broker.open() as third:
            third.connect(alice().first())
            await third.challenge()
            assert await first.ending() == 0x89
            assert broker.exchange_count == 2
        assert broker.errors == {"server_busy": 1}
        second.finish()
        assert await second.receive() is None
        async with await broker.open() as fourth:
            await fourth.log_in(alice())
    await broker.quiet()
