"""aiomqtt as a client of MQTT 5.0."""

import asyncio
from typing import Any

import aiomqtt
import pytest

from tests.contract.mqtt_client.foreign_client import DEADLINE_SECONDS
from tests.contract.mqtt_client.paho_client import (
    connect_properties,
    properties_of,
    publish_properties,
    will_properties,
)
from tests.system.stage import Stage


def _client(stage: Stage, name: str, **arguments: Any) -> aiomqtt.Client:
    return aiomqtt.Client(
        "127.0.0.1",
        stage.broker.port,
        identifier=stage.client_id(name),
        protocol=aiomqtt.ProtocolVersion.V5,
        **arguments,
    )


async def test_aiomqtt_5_asks_and_another_answers(stage: Stage) -> None:
    asked = publish_properties(
        ResponseTopic=stage.topic("answer"),
        CorrelationData=b"\x00\x17",
        UserProperty=[("unit", "Cel"), ("unit", "K")],
        MessageExpiryInterval=600,
    )
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        _client(stage, "asking") as asking,
        _client(stage, "answering") as answering,
    ):
        await asking.subscribe(stage.topic("answer"), qos=1)
        await answering.subscribe(f"$share/answering/{stage.topic('question')}", qos=2)
        await asking.publish(stage.topic("question"), b"how warm?", qos=2, properties=asked)
        question = properties_of((await anext(answering.messages)).properties)
        assert 1 <= question.pop("MessageExpiryInterval") <= 600
        assert question == {
            "ResponseTopic": stage.topic("answer"),
            "CorrelationData": "0017",
            "UserProperty": [("unit", "Cel"), ("unit", "K")],
        }
        await answering.publish(
            question["ResponseTopic"],
            b"21.5",
            qos=1,
            properties=publish_properties(
                CorrelationData=bytes.fromhex(question["CorrelationData"])
            ),
        )
        answer = await anext(asking.messages)
    assert answer.payload == b"21.5"
    assert properties_of(answer.properties) == {"CorrelationData": "0017"}


async def test_the_delayed_will_of_aiomqtt_5_ends_with_a_clean_start(stage: Stage) -> None:
    will = aiomqtt.Will(
        stage.topic("will"), b"gone", qos=1, properties=will_properties(WillDelayInterval=3600)
    )
    kept = connect_properties(SessionExpiryInterval=600)
    async with asyncio.timeout(DEADLINE_SECONDS), _client(stage, "watcher") as watcher:
        await watcher.subscribe(stage.topic("will"), qos=1)
        first = _client(stage, "same", will=will, properties=kept)
        await first.__aenter__()
        # A clean start ends the session of the connection that it takes over, and so the delay.
        async with _client(stage, "same", clean_start=True):
            with pytest.raises(aiomqtt.MqttError):
                await anext(first.messages)
            assert (await anext(watcher.messages)).payload == b"gone"
