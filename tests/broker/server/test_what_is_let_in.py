"""Keys of [mqtt] that restrict what clients may use, and control characters in names."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.server.broker import Broker
from tests.broker.server.conftest import Start
from tests.peers.packet_client import PacketClient

CONTROL = ["\x01", "\x1f", "\x7f", "\x80", "\x9f"]


async def peer(
    broker: Broker, client_id: str = "c", version: int = 5, **values: Any
) -> tuple[PacketClient, Connack]:
    client = await broker.open_packets(version)
    will, username = values.get("will"), values.get("username")
    clean = values.get("clean", True)
    client.send(Connect(version, client_id, clean, 0, will, username, None, None))
    connack = await client.receive()
    assert isinstance(connack, Connack)
    return client, connack


async def refused(broker: Broker, client_id: str = "c", version: int = 5, **values: Any) -> int:
    client, connack = await peer(broker, client_id, version, **values)
    assert await client.receive() is None
    return connack.reason_code


async def end_of(client: PacketClient) -> int | None:
    """Return the reason code of the DISCONNECT that ends the connection; skip other packets."""
    while (packet := await client.receive()) is not None:
        if isinstance(packet, Disconnect):
            return packet.reason_code
    return None


@pytest.mark.statement("MQTT5-3.2.2-9", "MQTT5-3.2.2-10", "MQTT5-3.2.2-12")
async def test_no_more_than_the_maximum_qos(start: Start) -> None:
    broker = await start({}, maximum_qos=1)
    client, connack = await peer(broker)
    assert connack.properties is not None
    assert connack.properties.maximum_qos == 1
    client.send(Subscribe(1, [Subscription("t", 2), Subscription("u", 0)]))
    assert await client.receive() == Suback(1, [1, 0])
    client.send(Publish("x", b"", 1, False, False, 1))
    assert await client.receive() == Puback(1, 0x10)
    client.send(Publish("t", b"", 2, False, False, 2))
    assert await end_of(client) == 0x9B
    assert await refused(broker, will=Will("w", b"", 2, False)) == 0x9B
    old, _ = await peer(broker, "old", 4)
    old.send(Publish("t", b"", 2, False, False, 2))
    assert await end_of(old) is None
    assert broker.errors["maximum_qos"] == 3


@pytest.mark.statement("MQTT5-3.2.2-13")
async def test_nothing_is_retained_where_it_is_switched_off(start: Start) -> None:
    broker = await start({})
    client, connack = await peer(broker)
    assert connack.properties is not None
    assert connack.properties.retain_available is None
    client.send(Publish("t", b"before", 1, True, False, 1))
    await client.receive()
    broker.running.event_loop.limits.retain_available = False
    client, connack = await peer(broker, "d")
    assert connack.properties is not None
    assert connack.properties.retain_available is False
    client.send(Subscribe(1, [Subscription("t", 1)]), Publish("t", b"plain", 0, False, False, 0))
    assert await client.receive() == Suback(1, [1])
    packet = await client.receive()
    assert isinstance(packet, Publish)
    assert packet.payload == b"plain", "no retained message before it"
    client.send(Publish("t", b"", 0, True, False, 0))
    assert await end_of(client) == 0x9A
    assert await refused(broker, will=Will("w", b"", 0, True)) == 0x9A
    assert "t" in broker.running.event_loop.broker.state.retained


async def test_a_payload_beyond_the_limit_is_refused_or_goes_nowhere(start: Start) -> None:
    broker = await start({}, message_size_limit="100B")
    watch, _ = await peer(broker, "w")
    watch.send(Subscribe(1, [Subscription("t", 0)]))
    await watch.receive()
    for version in (4, 5):
        client, _ = await peer(broker, f"c{version}", version)
        code = 0x97 if version == 5 else 0
        client.send(Publish("t", b"x" * 101, 1, False, False, 1))
        assert await client.receive() == Puback(1, code)
        client.send(Publish("t", b"x" * 101, 2, False, False, 2))
        assert await client.receive() == Pubrec(2, code)
        if version == 4:
            client.send(Pubrel(2))
            assert await client.receive() == Pubcomp(2)
        client.send(Publish("t", b"x" * 101, 0, False, False, 0))
        client.send(Publish("t", b"%d" % version * 100, 1, False, False, 3))
        assert await client.receive() == Puback(3)
        packet = await watch.receive()
        assert isinstance(packet, Publish)
        assert packet.payload == b"%d" % version * 100
    assert broker.errors["message_size_limit"] == 6
    assert await refused(broker, will=Will("w", b"x" * 101, 0, False)) == 0x97


async def test_only_the_protocol_versions_that_are_named(start: Start) -> None:
    broker = await start({}, protocol_versions=[4])
    assert await refused(broker, version=5) == 0x84
    assert await refused(broker, version=3) == 1
    _, connack = await peer(broker, version=4)
    assert connack.reason_code == 0


async def test_no_empty_client_identifiers_where_they_are_switched_off(start: Start) -> None:
    broker = await start({}, allow_zero_length_clientid=False)
    assert await refused(broker, "") == 0x85
    assert await refused(broker, "", 4) == 2
    _, connack = await peer(broker, "named")
    assert connack.reason_code == 0


@pytest.mark.parametrize("character", CONTROL)
async def test_control_characters_are_refused(start: Start, character: str) -> None:
    broker = await start({})
    name = f"a{character}b"
    assert await refused(broker, name) == 0x85
    assert await refused(broker, name, 4) == 2
    assert await refused(broker, "c", username=name) == 0x86
    assert await refused(broker, "c", will=Will(name, b"", 0, False)) == 0x90
    client, _ = await peer(broker)
    client.send(Subscribe(1, [Subscription(name, 0), Subscription("a b/é/\u00a0", 0)]))
    assert await client.receive() == Suback(1, [0x8F, 0])
    client.send(Publish("a b/é/\u00a0", b"", 0, False, False, 0))
    assert isinstance(await client.receive(), Publish)
    client.send(Publish(name, b"", 0, False, False, 0))
    assert await end_of(client) == 0x81
    assert broker.errors["control_character"] == 6


async def test_a_key_allows_control_characters_and_what_is_stored_with_them_goes_on(
    start: Start, tmp_path: Path
) -> None:
    broker = await start({}, allow_control_characters=True)
    name = "a\x01b"
    limits = broker.running.event_loop.limits
    made, _ = await peer(broker, name, 4, username=name, clean=False)
    made.send(Subscribe(1, [Subscription(name, 1)]), Publish(name, b"x", 1, True, False, 1))
    answers = [await made.receive() for _ in range(3)]
    assert Suback(1, [1]) in answers
    assert Puback(1) in answers
    made.send(Puback(1))
    made.abort()
    limits.allow_control_characters = False
    await asyncio.sleep(0)
    made, connack = await peer(broker, name, 4, username=name, clean=False)
    assert (connack.session_present, connack.reason_code) == (True, 0)
    made.send(Subscribe(1, [Subscription(name, 1)]))
    answers = [await made.receive() for _ in range(2)]
    assert Suback(1, [1]) in answers
    (retained,) = [answer for answer in answers if isinstance(answer, Publish)]
    assert retained.topic == name


async def test_a_topic_that_was_let_in_once_is_refused_when_it_is_no_longer(start: Start) -> None:
    broker = await start({}, allow_control_characters=True)
    client, _ = await peer(broker)
    for _ in range(2):
        client.send(Publish("a\x01b", b"", 1, False, False, 1))
        assert await client.receive() == Puback(1, 0x10)
    broker.running.event_loop.limits.allow_control_characters = False
    client, _ = await peer(broker, "d")
    client.send(Publish("a\x01b", b"", 1, False, False, 1))
    assert await end_of(client) == 0x81
