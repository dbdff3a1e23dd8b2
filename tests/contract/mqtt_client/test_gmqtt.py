"""gmqtt, the asyncio client that the bridge uses, here as any other program would use it."""

import asyncio
from collections.abc import Callable
from functools import partial

import gmqtt  # type: ignore[import-untyped]
import pytest
from gmqtt.mqtt.constants import MQTTv311  # type: ignore[import-untyped]

from tests.contract.mqtt_client.gmqtt_client import DEADLINE_SECONDS, GmqttClient
from tests.system.stage import Stage


@pytest.fixture
def new_client(new_gmqtt_client: Callable[..., GmqttClient]) -> Callable[..., GmqttClient]:
    """Makes gmqtt clients of MQTT 3.1.1."""
    return partial(new_gmqtt_client, version=MQTTv311)


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_gmqtt_publishes_and_receives_at_every_qos(
    stage: Stage, new_client: Callable[..., GmqttClient], qos: int
) -> None:
    client = new_client("gmqtt")
    await client.start()
    await client.subscribe(stage.topic("x/#"), qos)
    for number in range(50):
        client.client.publish(stage.topic(f"x/{number}"), b"%d" % number, qos=qos)
    messages = [await client.take() for _ in range(50)]
    assert [each.payload for each in messages] == [b"%d" % number for number in range(50)]
    assert {each.qos for each in messages} == {qos}


async def test_gmqtt_comes_back_to_its_persistent_session_and_gets_what_waited(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    away = new_client("away", clean_session=False)
    assert await away.start() is False
    await away.subscribe(stage.topic("x"), 2)
    await away.stop()
    await stage.deliver(stage.topic("x"), *[b"%d" % number for number in range(30)])
    away = new_client("away", clean_session=False)
    assert await away.start() is True
    assert [int((await away.take()).payload) for _ in range(30)] == list(range(30))


async def test_gmqtt_sees_retained_messages(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    await stage.deliver(stage.topic("x"), b"retained", retain=True)
    client = new_client("gmqtt")
    await client.start()
    await client.subscribe(stage.topic("x"), 1)
    message = await client.take()
    assert (message.payload, message.retain) == (b"retained", True)


async def test_the_will_of_a_gmqtt_client_is_published_when_its_connection_is_cut(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    watcher = new_client("watcher")
    await watcher.start()
    await watcher.subscribe(stage.topic("will"), 2)
    will = gmqtt.Message(stage.topic("will"), b"gone", qos=2)
    mortal = new_client("mortal", will_message=will)
    await mortal.start()
    mortal.cut()
    message = await watcher.take()
    assert (message.payload, message.qos) == (b"gone", 2)


async def test_a_second_gmqtt_client_with_the_same_identifier_takes_over(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    first = new_client("same")
    await first.start()
    second = new_client("same")
    await second.start()
    async with asyncio.timeout(DEADLINE_SECONDS):
        await first.disconnected.wait()
    await second.subscribe(stage.topic("x"), 1)
    second.client.publish(stage.topic("x"), b"fine", qos=1)
    assert (await second.take()).payload == b"fine"
