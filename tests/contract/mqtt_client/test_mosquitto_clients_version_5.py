"""Debian's mosquitto_pub, mosquitto_sub and mosquitto_rr with `-V 5`."""

import asyncio
import signal
from collections.abc import Callable

from tests.contract.mqtt_client.gmqtt_client import GmqttClient
from tests.contract.mqtt_client.mosquitto_commands import (
    lines_of,
    run,
    subscriber,
)
from tests.system.stage import Stage

FIVE = ("-V", "5")


async def test_mosquitto_sub_5_prints_the_properties_that_mosquitto_pub_5_sends(
    stage: Stage,
) -> None:
    sent = {
        "content-type": "text/plain",
        "correlation-data": "23",
        "payload-format-indicator": "1",
        "response-topic": stage.topic("answer"),
    }
    properties = [word for name, value in sent.items() for word in ("-D", "publish", name, value)]
    for value in ("Cel", "K"):
        properties += ["-D", "publish", "user-property", "unit", value]
    properties += ["-D", "publish", "message-expiry-interval", "600"]
    topic = ("-q", "1", "-t", stage.topic("x"))
    await run(stage, "mosquitto_pub", *FIVE, *topic, "-r", "-m", "warm", *properties)
    identified = ("-D", "subscribe", "subscription-identifier", "5")
    form = ("-F", "%p|%C|%D|%F|%R|%P|%S|%E")
    printed = await run(stage, "mosquitto_sub", *FIVE, *topic, *identified, "-C", "1", *form)
    *values, expiry_seconds = printed.decode().rstrip("\n").split("|")
    expected = ["warm", "text/plain", "23", "1", stage.topic("answer"), "unit:Cel unit:K", "5"]
    assert values == expected
    assert 1 <= int(expiry_seconds) <= 600


async def test_mosquitto_pub_5_names_a_topic_once_and_then_by_its_alias(stage: Stage) -> None:
    async with subscriber(stage, *FIVE, "-q", "1", "-t", stage.topic("#"), "-v") as reading:
        alias = ("-D", "publish", "topic-alias", "3")
        message = ("-q", "1", "-t", stage.topic("x"), "-m", "warm", "--repeat", "5")
        await run(stage, "mosquitto_pub", *FIVE, *message, *alias)
        assert await lines_of(reading, 5) == [f"{stage.topic('x')} warm"] * 5


async def test_the_delayed_will_of_a_killed_mosquitto_sub_5_is_published(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 2))
    will = ("--will-topic", stage.topic("will"), "--will-payload", "gone", "--will-qos", "2")
    # The session ends a second after the connection, and a will is sent by then at the latest.
    times = ("-x", "1", "-D", "will", "will-delay-interval", "3600")
    async with subscriber(stage, *FIVE, "-t", stage.topic("x"), *will, *times) as mortal:
        mortal.send_signal(signal.SIGKILL)
        message = await watcher.take()
    assert (message.payload, message.qos) == (b"gone", 2)


async def test_mosquitto_rr_asks_and_gmqtt_answers_where_it_was_asked_to(
    stage: Stage, new_gmqtt_client: Callable[..., GmqttClient]
) -> None:
    answering = new_gmqtt_client("answering")
    await answering.start()
    await answering.subscribe(stage.topic("question"), 1)
    topics = ("-t", stage.topic("question"), "-e", stage.topic("answer"))
    asked = ("-q", "1", "-m", "how warm?", "-D", "publish", "correlation-data", "23")
    asking = asyncio.create_task(run(stage, "mosquitto_rr", *FIVE, *topics, *asked, "-F", "%p %D"))
    question = await answering.take()
    assert question.payload == b"how warm?"
    assert question.properties["response_topic"] == [stage.topic("answer")]
    [correlation] = question.properties["correlation_data"]
    answering.client.publish(stage.topic("answer"), b"21.5", qos=1, correlation_data=correlation)
    assert await asking == b"21.5 23\n"
