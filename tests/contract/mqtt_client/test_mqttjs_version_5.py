"""MQTT.js as a client of MQTT 5.0: the features that only MQTT 5.0 has."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.mqtt_client.foreign_client import Level, Part
from tests.contract.mqtt_client.mqttjs_client import MqttJsClient, MqttJsProgram
from tests.system.stage import Stage

New = Callable[..., MqttJsClient]


@pytest.fixture
def new_client(mqttjs: MqttJsProgram, stage: Stage) -> New:
    """Return a function that creates MQTT.js clients. They end with the process that runs them."""

    def make(name: str, **options: Any) -> MqttJsClient:
        part = Part(stage.client_id(name), Level.MQTT_5_0, stage.broker.port)
        return MqttJsClient(mqttjs, part, **options)

    return make


async def _topics_and_payloads(client: MqttJsClient, count: int) -> list[tuple[str, str]]:
    messages = [await client.take_whole() for _ in range(count)]
    return [(message["topic"], message["payload"]) for message in messages]


async def test_mqttjs_gets_the_properties_of_a_message_unaltered(
    stage: Stage, new_client: New
) -> None:
    client = new_client("mqttjs")
    await client.start()
    await client.subscribe(stage.topic("x"), qos=2)
    properties: dict[str, Any] = {
        "payloadFormatIndicator": True,
        "contentType": "text/plain",
        "responseTopic": stage.topic("answer"),
        "correlationData": "\x00\xff",
        "userProperties": {"unit": ["Cel", "K"], "Grad": "21,5 °C", "": ""},
    }
    await client.publish(stage.topic("x"), b"warm", qos=2, **properties)
    assert (await client.take_whole())["properties"] == properties


async def test_mqttjs_asks_and_another_answers(stage: Stage, new_client: New) -> None:
    asking, answering = new_client("asking"), new_client("answering")
    for client, topic in [(asking, "answer"), (answering, "question")]:
        await client.start()
        await client.subscribe(stage.topic(topic), qos=1)
    asked: dict[str, Any] = {"responseTopic": stage.topic("answer"), "correlationData": "\x00\x17"}
    await asking.publish(stage.topic("question"), b"how warm?", qos=1, **asked)
    question = (await answering.take_whole())["properties"]
    correlation: dict[str, Any] = {"correlationData": question["correlationData"]}
    await answering.publish(question["responseTopic"], b"21.5", qos=1, **correlation)
    answer = await asking.take_whole()
    assert (answer["payload"], answer["properties"]) == ("21.5", correlation)


async def test_mqttjs_gives_each_topic_an_alias_by_itself(stage: Stage, new_client: New) -> None:
    client = new_client("mqttjs", autoAssignTopicAlias=True)
    await client.start()
    assert client.connack["properties"]["topicAliasMaximum"] == 16
    await client.subscribe(stage.topic("#"), qos=0)
    # 20 topics share 16 aliases, so some aliases change to another topic and back.
    sent = [(stage.topic(f"x{number}"), str(number)) for number in range(20)] * 2
    for topic, payload in sent:
        await client.publish(topic, payload.encode(), qos=0)
    assert await _topics_and_payloads(client, 40) == sent


async def test_mqttjs_knows_each_topic_by_the_alias_that_the_broker_gave_it(
    stage: Stage, new_client: New
) -> None:
    expiry = {"sessionExpiryInterval": 0}
    client = new_client("mqttjs", properties=expiry | {"topicAliasMaximum": 2})
    await client.start()
    await client.subscribe(stage.topic("#"), qos=0)
    topics = [stage.topic(name) for name in ("x", "y", "z", "x", "y", "z")]
    for topic in topics:
        await client.publish(topic, b"warm", qos=0)
    messages = [await client.take_whole() for _ in topics]
    assert [message["topic"] for message in messages] == topics
    aliases = [(message.get("properties") or {}).get("topicAlias") for message in messages]
    assert aliases == [1, 2, None] * 2


async def test_mqttjs_receives_which_of_its_subscriptions_matched(
    stage: Stage, new_client: New
) -> None:
    client = new_client("mqttjs")
    await client.start()
    for identifier, name in [(1, "x/+"), (268_435_455, "x/#")]:
        properties = {"subscriptionIdentifier": identifier}
        await client.subscribe(stage.topic(name), qos=1, properties=properties)
    await client.publish(stage.topic("x/y/z"), b"one", qos=1)
    message = await client.take_whole()
    assert message["properties"]["subscriptionIdentifier"] == 268_435_455
    await client.publish(stage.topic("x/y"), b"both", qos=1)
    reported: list[Any] = []
    # The standard allows the broker to send one message for both, or one for each.
    while set(reported) != {1, 268_435_455}:
        found = (await client.take_whole())["properties"]["subscriptionIdentifier"]
        reported += found if isinstance(found, list) else [found]
    assert len(reported) == 2


async def test_mqttjs_chooses_how_its_subscription_treats_retained_and_own_messages(
    stage: Stage, new_client: New
) -> None:
    client, other = new_client("client"), new_client("other")
    for each in (client, other):
        await each.start()
    expiring = {"messageExpiryInterval": 600}
    await other.publish(stage.topic("x"), b"old", qos=1, retain=True)
    await client.subscribe(stage.topic("x"), qos=1, nl=True, rap=True, rh=2)
    await client.publish(stage.topic("x"), b"own", qos=1)
    await other.publish(stage.topic("x"), b"new", qos=1, retain=True, **expiring)
    message = await client.take_whole()
    assert (message["payload"], message["retain"]) == ("new", True)
    assert 1 <= message["properties"]["messageExpiryInterval"] <= 600
