"""aiomqtt, the asyncio front end of paho-mqtt, on the real broker."""

import asyncio

import aiomqtt
import pytest

from tests.contract.mqtt_client.foreign_client import DEADLINE_SECONDS
from tests.system.stage import Stage


async def test_an_aiomqtt_will_is_retained_for_a_later_subscriber(stage: Stage) -> None:
    will = aiomqtt.Will(stage.topic("will"), b"gone", qos=1, retain=True)
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 1))
    client = aiomqtt.Client(
        "127.0.0.1", stage.broker.port, identifier=stage.client_id("a"), will=will
    )
    async with asyncio.timeout(DEADLINE_SECONDS):
        await client.__aenter__()
        # A second connection with the same client identifier ends this one without a DISCONNECT.
        await stage.client("a")
        with pytest.raises(aiomqtt.MqttError):
            await anext(client.messages)
    assert (await watcher.take()).payload == b"gone"
    assert await stage.retained_of(stage.topic("will"), wanted=1) == [b"gone"]
