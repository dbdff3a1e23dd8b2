"""Bytes that are not MQTT: the connection is closed, a counter names the reason, and no other
client notices."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.peers import mqtt_bytes
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import DISCONNECT, PINGREQ, Kind, connect, packet, publish, string
from tests.system.stage import Stage

WRONG_AFTER_CONNECT = [
    pytest.param(packet(0, 0), id="packet type 0"),
    pytest.param(packet(15, 0), id="packet type 15"),
    pytest.param(
        packet(Kind.PINGREQ, 1), id="PINGREQ flags", marks=pytest.mark.statement("MQTT-2.2.2-2")
    ),
    pytest.param(
        packet(Kind.DISCONNECT, 4),
        id="DISCONNECT flags",
        marks=pytest.mark.statement("MQTT-3.14.1-1"),
    ),
    pytest.param(
        packet(Kind.PUBREL, 0, b"\x00\x01"),
        id="PUBREL flags",
        marks=pytest.mark.statement("MQTT-3.6.1-1"),
    ),
    pytest.param(packet(Kind.PUBACK, 2, b"\x00\x01"), id="PUBACK flags"),
    pytest.param(packet(Kind.PUBREC, 1, b"\x00\x01"), id="PUBREC flags"),
    pytest.param(packet(Kind.PUBCOMP, 8, b"\x00\x01"), id="PUBCOMP flags"),
    pytest.param(packet(Kind.PUBACK, 0), id="PUBACK without packet id"),
    pytest.param(packet(Kind.PUBREL, 2, b"\x01"), id="PUBREL with half a packet id"),
    pytest.param(packet(Kind.PUBACK, 0, b"\x00\x01\x00"), id="PUBACK with trailing bytes"),
    pytest.param(packet(Kind.PUBACK, 0, b"\x00\x00"), id="PUBACK with packet id 0"),
    pytest.param(packet(Kind.PINGREQ, 0, b"\x00"), id="PINGREQ with a body"),
    pytest.param(packet(Kind.DISCONNECT, 0, b"\x00"), id="DISCONNECT with a body"),
    pytest.param(
        publish("a", b"x", qos=3, packet_id=1),
        id="QoS 3",
        marks=pytest.mark.statement("MQTT-3.3.1-4"),
    ),
    pytest.param(
        publish("a", b"x", qos=1, packet_id=0),
        id="PUBLISH with packet id 0",
        marks=pytest.mark.statement("MQTT-2.3.1-1"),
    ),
    pytest.param(
        publish("a/+/b", b"x"),
        id="+ in a topic name",
        marks=pytest.mark.statement("MQTT-3.3.2-2", "MQTT-4.7.1-1"),
    ),
    pytest.param(
        publish("a/#", b"x"),
        id="# in a topic name",
        marks=pytest.mark.statement("MQTT-3.3.2-2", "MQTT-4.7.1-1"),
    ),
    pytest.param(publish("", b"x"), id="empty topic", marks=pytest.mark.statement("MQTT-4.7.3-1")),
    pytest.param(
        publish(b"a\x00b", b"x"), id="U+0000", marks=pytest.mark.statement("MQTT-4.7.3-2")
    ),
    pytest.param(
        publish(b"\xed\xa0\x80", b"x"),
        id="surrogate",
        marks=pytest.mark.statement("MQTT-1.5.3-1", "MQTT-3.3.2-1"),
    ),
    pytest.param(publish(b"\xc0\xaf", b"x"), id="overlong UTF-8"),
    pytest.param(publish(b"\xff", b"x"), id="no UTF-8"),
    pytest.param(packet(Kind.PUBLISH, 0), id="PUBLISH without a topic"),
    pytest.param(packet(Kind.PUBLISH, 0, b"\x00\x09abc"), id="topic longer than the packet"),
    pytest.param(packet(Kind.PUBLISH, 2, string("a")), id="PUBLISH without its packet id"),
    pytest.param(b"\x30\xff\xff\xff\xff\x01", id="remaining length of five bytes"),
    pytest.param(packet(Kind.CONNACK, 0, b"\x00\x00"), id="CONNACK from a client"),
    pytest.param(packet(Kind.SUBACK, 0, b"\x00\x01\x00"), id="SUBACK from a client"),
    pytest.param(packet(Kind.UNSUBACK, 0, b"\x00\x01"), id="UNSUBACK from a client"),
    pytest.param(packet(Kind.PINGRESP, 0), id="PINGRESP from a client"),
    pytest.param(publish("a", b"x", dup=True), id="DUP at QoS 0"),
]


@pytest.mark.statement("MQTT-4.8.0-1")
@pytest.mark.parametrize("wrong", WRONG_AFTER_CONNECT)
async def test_a_malformed_packet_closes_its_connection_and_no_other(
    stage: Stage, wrong: bytes
) -> None:
    bystander = await stage.client("bystander")
    await bystander.subscribe((stage.topic("x"), 2))
    client = await stage.client("a")
    await client.send_all(wrong)
    assert await client.expect_closed() == []
    await stage.deliver(stage.topic("x"), b"undisturbed")
    assert (await bystander.take()).payload == b"undisturbed"


async def test_what_came_before_a_malformed_packet_in_the_same_segment_is_processed(
    stage: Stage,
) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 1))
    client = await stage.client("a")
    await client.send_all(
        publish(stage.topic("x"), b"good", qos=1, packet_id=1)
        + packet(0, 0)
        + publish(stage.topic("x"), b"after the error", qos=1, packet_id=2)
    )
    await client.expect_closed()
    await stage.deliver(stage.topic("x"), b"end", qos=1)
    assert await watcher.take_payloads_until(b"end") == [b"good"]


@pytest.mark.statement("MQTT-3.14.4-2")
async def test_what_follows_a_disconnect_is_not_processed(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 1))
    client = await stage.client("a")
    await client.send_all(DISCONNECT + publish(stage.topic("x"), b"late", qos=1, packet_id=1))
    assert await client.expect_closed() == []
    await stage.deliver(stage.topic("x"), b"end", qos=1)
    assert (await watcher.take()).payload == b"end"


async def test_packets_split_at_every_byte_are_read_like_whole_ones(stage: Stage) -> None:
    client = await stage.open()
    packets = (
        connect(stage.client_id("slow")),
        mqtt_bytes.subscribe(1, (stage.topic("x"), 2)),
        publish(stage.topic("x"), b"payload", qos=1, packet_id=2),
        PINGREQ,
    )
    for byte in b"".join(packets):
        await client.send_all(bytes([byte]))
    await client.expect(Kind.CONNACK)
    await client.find(Kind.SUBACK, 1)
    await client.find(Kind.PUBACK, 2)
    await client.find(Kind.PINGRESP)
    assert (await client.take()).payload == b"payload"


async def test_random_bytes_on_a_hundred_connections_disturb_no_other_client(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    bystander = await stage.client("bystander")
    await bystander.subscribe((stage.topic("x"), 2))
    source = random.Random(20261121)  # noqa: S311
    for number in range(100):
        client: ByteClient = await stage.open()
        prefix = connect(stage.client_id("a")) if number % 2 else b""
        await client.send_all(prefix + source.randbytes(source.randrange(1, 400)))
        client.cut()
    await stage.deliver(stage.topic("x"), b"undisturbed")
    assert (await bystander.take()).payload == b"undisturbed"


def _counts_errors(count: int, status: Any) -> bool:
    return bool(sum(status["errors"].values()) == count)


async def test_each_malformed_packet_is_counted_by_its_reason(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    assert sum((await stage.status())["errors"].values()) == 0
    for count, wrong in enumerate((packet(0, 0), publish("a/+", b"x"), publish("", b"x")), start=1):
        client = await stage.client("a")
        await client.send_all(wrong)
        await client.expect_closed()
        await stage.eventually(partial(_counts_errors, count), f"{count} counted errors")
