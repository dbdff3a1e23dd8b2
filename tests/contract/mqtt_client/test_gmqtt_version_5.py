"""gmqtt at its default version, MQTT 5.0."""

import time
from collections.abc import Callable

import gmqtt  # type: ignore[import-untyped]

from tests.contract.mqtt_client.gmqtt_client import GmqttClient
from tests.system.stage import Stage

QUOTA_EXCEEDED = 0x97


async def test_gmqtt_5_keeps_its_session_for_as_long_as_it_asked(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    def client() -> GmqttClient:
        return new_gmqtt_client("away", clean_session=False, session_expiry_interval=600)

    away = client()
    assert await away.start() is False
    await away.subscribe(stage.topic("x"), 2)
    await away.stop()
    await stage.deliver(stage.topic("x"), *[b"%d" % number for number in range(20)])
    away = client()
    assert await away.start() is True
    assert [int((await away.take()).payload) for _ in range(20)] == list(range(20))
    # Closing a socket with unread data discards data that was just sent. A PUBREL that gmqtt has
    # not read would so lose the DISCONNECT.
    await stage.settle("away")
    # DISCONNECT may shorten the session expiry interval of CONNECT.
    await away.client.disconnect(session_expiry_interval=0)
    assert await client().start() is False


async def test_gmqtt_5_knows_each_topic_by_the_alias_that_the_broker_gave_it(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    client = new_gmqtt_client("gmqtt", topic_alias_maximum=2)
    await client.start()
    await client.subscribe(stage.topic("#"), 0)
    topics = [stage.topic(name) for name in ("x", "y", "z", "x", "y", "z")]
    for topic in topics:
        client.client.publish(topic, b"warm")
    messages = [await client.take() for _ in topics]
    assert [each.topic for each in messages] == topics
    aliases = [each.properties.get("topic_alias") for each in messages]
    assert aliases == [[1], [2], None] * 2


async def test_gmqtt_5_names_a_topic_once_and_then_by_its_alias(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    client = new_gmqtt_client("gmqtt")
    await client.start()
    assert client.connack_properties["topic_alias_maximum"] == [16]
    await client.subscribe(stage.topic("#"), 2)
    for topic in [stage.topic("x"), "", "", stage.topic("y"), ""]:
        client.client.publish(topic, b"warm", qos=2, topic_alias=16)
    topics = [(await client.take()).topic for _ in range(5)]
    assert topics == [stage.topic("x")] * 3 + [stage.topic("y")] * 2


async def test_gmqtt_5_asks_and_another_answers(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    asking, answering = new_gmqtt_client("asking"), new_gmqtt_client("answering")
    for client, topic in [(asking, "answer"), (answering, "question")]:
        await client.start()
        await client.subscribe(stage.topic(topic), 2)
    asking.client.publish(
        stage.topic("question"),
        b"how warm?",
        qos=2,
        response_topic=stage.topic("answer"),
        correlation_data=b"\x00\x17",
        user_property=[("unit", "Cel"), ("unit", "K")],
        content_type="text/plain",
        payload_format_id=1,
    )
    question = (await answering.take()).properties
    assert question["user_property"] == [("unit", "Cel"), ("unit", "K")]
    assert (question["content_type"], question["payload_format_id"]) == (["text/plain"], [1])
    [response_topic], [correlation] = question["response_topic"], question["correlation_data"]
    answering.client.publish(response_topic, b"21.5", qos=1, correlation_data=correlation)
    answer = await asking.take()
    assert (answer.payload, answer.properties["correlation_data"]) == (b"21.5", [b"\x00\x17"])


async def test_a_message_of_gmqtt_5_carries_what_is_left_of_its_time(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    client = new_gmqtt_client("gmqtt")
    await client.start()
    client.client.publish(
        stage.topic("x"), b"kept", qos=1, retain=True, message_expiry_interval=600
    )
    await client.subscribe(stage.topic("x"), 1, subscription_identifier=7)
    message = await client.take()
    assert (message.payload, message.retain) == (b"kept", True)
    assert message.properties["subscription_identifier"] == [7]
    assert 1 <= message.properties["message_expiry_interval"][0] <= 600


async def test_the_delayed_will_of_a_gmqtt_5_client_is_published_with_its_properties(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    watcher = new_gmqtt_client("watcher")
    await watcher.start()
    await watcher.subscribe(stage.topic("will"), 2)
    will = gmqtt.Message(
        stage.topic("will"),
        b"gone",
        qos=2,
        will_delay_interval=1,
        user_property=[("cause", "cut")],
    )
    mortal = new_gmqtt_client("mortal", will_message=will, session_expiry_interval=600)
    await mortal.start()
    cut_seconds = time.monotonic()
    mortal.cut()
    message = await watcher.take()
    assert (message.payload, message.qos) == (b"gone", 2)
    assert time.monotonic() - cut_seconds >= 1.0
    assert message.properties["user_property"] == [("cause", "cut")]


async def test_messages_that_gmqtt_5_refuses_do_not_fill_its_window(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    choosy = new_gmqtt_client("choosy", optimistic_acknowledgement=False, receive_maximum=2)
    choosy.reason_codes = {b"bad": QUOTA_EXCEEDED}
    await choosy.start()
    await choosy.subscribe(stage.topic("x"), 2)
    payloads = [b"bad"] * 10 + [b"good", b"bad", b"good"]
    await stage.deliver(stage.topic("x"), *payloads)
    await stage.deliver(stage.topic("x"), *payloads, qos=1)
    assert [(await choosy.take()).payload for _ in range(26)] == payloads * 2


async def test_gmqtt_5_does_not_get_its_own_messages_back_when_it_asks_for_that(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    client = new_gmqtt_client("gmqtt")
    await client.start()
    await client.subscribe(stage.topic("x"), 2, no_local=True)
    client.client.publish(stage.topic("x"), b"own", qos=0)
    await stage.deliver(stage.topic("x"), b"another's")
    assert (await client.take()).payload == b"another's"
