"""Keep-alive: a client that is silent for one and a half intervals is disconnected, and a client
that pings is not."""

import asyncio
import time

import pytest

from tests.peers.mqtt_bytes import Will
from tests.system.stage import Stage


@pytest.mark.statement("MQTT-3.1.2-24", "MQTT-3.1.2-8")
async def test_a_client_silent_for_one_and_a_half_keep_alives_is_closed_and_its_will_published(
    stage: Stage,
) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 2))
    began = time.monotonic()
    client = await stage.client(
        "silent", keep_alive_seconds=1, will=Will(stage.topic("will"), b"gone", qos=2)
    )
    assert await client.expect_closed() == []
    assert 1.4 <= time.monotonic() - began <= 4.0
    assert (await watcher.take()).payload == b"gone"


@pytest.mark.statement("MQTT-3.1.2-24", "MQTT-3.12.4-1")
async def test_a_client_that_pings_and_one_without_a_keep_alive_stay_connected(
    stage: Stage,
) -> None:
    pinging = await stage.client("pinging", keep_alive_seconds=2)
    without_keep_alive = await stage.client("calm", keep_alive_seconds=0)
    # Each silent client is disconnected after 1.5 s. Together that is longer than 1.5 times 2 s.
    for _ in range(3):
        silent = await stage.client("silent", keep_alive_seconds=1)
        await silent.expect_closed()
        await pinging.ping()
    await without_keep_alive.ping()


async def test_any_packet_is_a_sign_of_life_and_not_ping_alone(stage: Stage) -> None:
    publishing = await stage.client("publishing", keep_alive_seconds=2)
    for _ in range(3):
        silent = await stage.client("silent", keep_alive_seconds=1)
        await silent.expect_closed()
        await publishing.publish(stage.topic("nobody listens"), b"here")
    await publishing.ping()


@pytest.mark.statement("MQTT-3.1.2-24")
async def test_a_client_that_drips_a_packet_is_closed_as_a_silent_one_is(stage: Stage) -> None:
    dripping = await stage.client("dripping", keep_alive_seconds=1)
    began = time.monotonic()
    closing = asyncio.create_task(dripping.expect_closed())
    # The start of a PUBLISH of 255 bytes.
    for byte in b"\x30\xff\x01" + bytes(200):
        if closing.done():
            break
        dripping.send(bytes([byte]))
        await asyncio.sleep(0.2)  # The attack: one byte in each fifth of the interval.
    assert closing.done()
    await closing
    assert time.monotonic() - began >= 1.4


async def test_packets_that_the_broker_sends_are_no_sign_of_life_of_the_client(
    stage: Stage,
) -> None:
    listener = await stage.client("listener", keep_alive_seconds=1)
    await listener.subscribe((stage.topic("noise"), 0))
    noise = await stage.client("noise")
    began = time.monotonic()
    while time.monotonic() - began < 1.0:
        await noise.publish(stage.topic("noise"), b"x")
        await noise.ping()
    await listener.expect_closed()
    assert time.monotonic() - began <= 4.0
