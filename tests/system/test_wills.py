"""Wills are published at every end of a connection except DISCONNECT, exactly as the CONNECT
contained them."""

import pytest

from tests.peers import mqtt_bytes
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Will, packet
from tests.system.stage import Stage


async def _watcher_of(stage: Stage) -> ByteClient:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 2))
    return watcher


@pytest.mark.statement("MQTT-3.1.2-8", "MQTT-3.1.2-9", "MQTT-3.1.2-16", "MQTT-3.1.2-17")
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("retain", [False, True])
async def test_a_will_has_the_qos_and_retain_flag_it_was_given(
    stage: Stage, qos: int, retain: bool
) -> None:
    watcher = await _watcher_of(stage)
    will = Will(stage.topic("will"), b"gone", qos=qos, retain=retain)
    client = await stage.client("a", will=will)
    client.cut()
    message = await watcher.take()
    assert (message.payload, message.qos, message.retain) == (b"gone", qos, False)
    expected = [b"gone"] if retain else []
    assert await stage.retained_of(stage.topic("will"), wanted=retain) == expected


@pytest.mark.statement("MQTT-3.1.2-8")
@pytest.mark.parametrize("clean", [True, False])
async def test_a_reset_connection_publishes_the_will(stage: Stage, clean: bool) -> None:
    watcher = await _watcher_of(stage)
    client = await stage.client("a", clean=clean, will=Will(stage.topic("will"), b"gone"))
    client.cut()
    assert (await watcher.take()).payload == b"gone"


@pytest.mark.statement("MQTT-3.1.2-8")
async def test_a_connection_closed_without_disconnect_publishes_the_will(stage: Stage) -> None:
    watcher = await _watcher_of(stage)
    client = await stage.client("a", will=Will(stage.topic("will"), b"gone"))
    client.close()
    assert (await watcher.take()).payload == b"gone"


@pytest.mark.statement("MQTT-3.1.2-8", "MQTT-4.8.0-1")
@pytest.mark.parametrize(
    "wrong",
    [
        packet(0, 0),
        mqtt_bytes.publish("a/+", b"wildcard"),
        mqtt_bytes.subscribe(1, ("a#", 0)),
        packet(Kind.PUBREL, 0, b"\x00\x01"),
        packet(Kind.DISCONNECT, 1),
        b"\x30\xff\xff\xff\xff\x01",
    ],
    ids=["type 0", "wildcard", "bad filter", "pubrel flags", "disconnect flags", "length"],
)
async def test_a_protocol_error_publishes_the_will(stage: Stage, wrong: bytes) -> None:
    watcher = await _watcher_of(stage)
    client = await stage.client("a", will=Will(stage.topic("will"), b"gone"))
    await client.send_all(wrong)
    await client.expect_closed()
    assert (await watcher.take()).payload == b"gone"


@pytest.mark.statement("MQTT-3.1.2-10", "MQTT-3.14.4-3")
@pytest.mark.parametrize("clean", [True, False])
async def test_a_disconnect_removes_the_will(stage: Stage, clean: bool) -> None:
    watcher = await _watcher_of(stage)
    client = await stage.client("a", clean=clean, will=Will(stage.topic("will"), b"no", qos=2))
    await client.disconnect()
    await stage.deliver(stage.topic("will"), b"end")
    assert (await watcher.take()).payload == b"end"


@pytest.mark.statement("MQTT-3.1.2-10")
async def test_a_will_is_published_once_and_not_again_for_the_next_connection(
    stage: Stage,
) -> None:
    watcher = await _watcher_of(stage)
    client = await stage.client("a", clean=False, will=Will(stage.topic("will"), b"gone", qos=2))
    client.cut()
    assert (await watcher.take()).payload == b"gone"
    client = await stage.client("a", clean=False)
    client.cut()
    await stage.deliver(stage.topic("will"), b"end")
    assert (await watcher.take()).payload == b"end"


@pytest.mark.statement("MQTT-3.1.2-12")
async def test_a_connection_without_a_will_publishes_none(stage: Stage) -> None:
    watcher = await _watcher_of(stage)
    client = await stage.client("a")
    client.cut()
    await stage.deliver(stage.topic("will"), b"end")
    assert (await watcher.take()).payload == b"end"


async def test_a_will_waits_for_an_absent_subscriber(stage: Stage) -> None:
    watcher = await stage.client("watcher", clean=False)
    await watcher.subscribe((stage.topic("will"), 2))
    await watcher.disconnect()
    client = await stage.client("a", will=Will(stage.topic("will"), b"gone", qos=1))
    # The broker itself closes a connection that breaks the protocol, so the test can await the end.
    await client.send_all(packet(0, 0))
    await client.expect_closed()
    await stage.deliver(stage.topic("will"), b"end")
    watcher = await stage.client("watcher", clean=False)
    assert await watcher.take_payloads_until(b"end") == [b"gone"]


async def test_a_will_with_an_empty_payload_and_retain_clears_what_was_retained(
    stage: Stage,
) -> None:
    await stage.deliver(stage.topic("will"), b"alive", retain=True)
    watcher = await _watcher_of(stage)
    assert (await watcher.take()).payload == b"alive"
    client = await stage.client("a", will=Will(stage.topic("will"), b"", qos=1, retain=True))
    client.cut()
    assert (await watcher.take()).payload == b""
    assert await stage.retained_of(stage.topic("will"), wanted=0) == []


async def test_a_client_may_receive_its_own_will_in_its_persistent_session(stage: Stage) -> None:
    will = Will(stage.topic("will"), b"gone", qos=1)
    client = await stage.client("a", clean=False, will=will)
    await client.subscribe((stage.topic("will"), 1))
    await client.send_all(packet(0, 0))
    await client.expect_closed()
    client = await stage.client("a", clean=False)
    assert (await client.take()).payload == b"gone"
