"""Retained messages: one per topic, not part of a session, sent with each new subscription."""

import pytest

from tests.peers import mqtt_bytes
from tests.system.stage import Stage


@pytest.mark.statement("MQTT-3.3.1-5", "MQTT-3.3.1-6", "MQTT-3.3.1-8", "MQTT-3.3.1-7")
@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
async def test_a_new_subscription_gets_the_last_retained_message_with_the_retain_flag(
    stage: Stage, published: int, granted: int
) -> None:
    await stage.deliver(stage.topic("x"), b"older", b"last", qos=published, retain=True)
    client = await stage.client("a")
    await client.subscribe((stage.topic("+"), granted))
    message = await client.take()
    assert (message.payload, message.retain) == (b"last", True)
    assert message.qos == min(published, granted)
    await stage.deliver(stage.topic("x"), b"live", qos=0)
    assert (await client.take()).payload == b"live"


@pytest.mark.statement("MQTT-3.3.1-9")
async def test_an_established_subscription_gets_it_without_the_retain_flag(stage: Stage) -> None:
    client = await stage.client("a")
    away = await stage.client("away", clean=False)
    for each in (client, away):
        await each.subscribe((stage.topic("x"), 1))
    await away.disconnect()
    await stage.deliver(stage.topic("x"), b"retained", qos=1, retain=True)
    away = await stage.client("away", clean=False)
    for each in (client, away):
        message = await each.take()
        assert (message.payload, message.retain) == (b"retained", False)


@pytest.mark.statement("MQTT-3.3.1-10", "MQTT-3.3.1-11")
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_an_empty_payload_is_delivered_as_usual_and_clears_what_was_retained(
    stage: Stage, qos: int
) -> None:
    await stage.deliver(stage.topic("x"), b"retained", retain=True)
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), 2))
    assert (await client.take()).payload == b"retained"
    await stage.deliver(stage.topic("x"), b"", qos=qos, retain=True)
    message = await client.take()
    assert (message.payload, message.retain) == (b"", False)
    assert await stage.retained_of(stage.topic("x"), wanted=0) == []


@pytest.mark.statement("MQTT-3.3.1-12")
async def test_a_message_without_the_retain_flag_replaces_and_clears_nothing(
    stage: Stage,
) -> None:
    await stage.deliver(stage.topic("x"), b"retained", retain=True)
    for payload in (b"other", b""):
        await stage.deliver(stage.topic("x"), payload)
    assert await stage.retained_of(stage.topic("x"), wanted=1) == [b"retained"]


@pytest.mark.statement("MQTT-3.1.2-7")
@pytest.mark.parametrize("clean", [True, False])
async def test_retained_messages_survive_the_session_that_published_them(
    stage: Stage, clean: bool
) -> None:
    client = await stage.client("a", clean=clean)
    await client.deliver(stage.topic("x"), b"retained", qos=2, retain=True)
    client.cut()
    await (await stage.client("a", clean=True)).disconnect()
    assert await stage.retained_of(stage.topic("x"), wanted=1) == [b"retained"]


async def test_a_wildcard_brings_the_retained_message_of_every_topic_it_matches(
    stage: Stage,
) -> None:
    for name in ("a", "a/b", "a/b/c", "d", "/e"):
        await stage.deliver(stage.topic(f"r/{name}"), name.encode(), retain=True)
    wanted = {
        "#": {b"a", b"a/b", b"a/b/c", b"d", b"/e"},
        "+": {b"a", b"d"},
        "a/#": {b"a", b"a/b", b"a/b/c"},
        "+/+": {b"a/b", b"/e"},
        "a/+/c": {b"a/b/c"},
        "+/e": {b"/e"},
        "x": set(),
    }
    for topic_filter, payloads in wanted.items():
        found = await stage.retained_of(stage.topic(f"r/{topic_filter}"), wanted=len(payloads))
        assert set(found) == payloads


@pytest.mark.statement("MQTT-4.7.2-1")
async def test_a_leading_wildcard_brings_no_retained_dollar_topic(stage: Stage) -> None:
    await stage.deliver(f"${stage.prefix}/x", b"hidden", retain=True)
    await stage.deliver(f"{stage.prefix}/x", b"shown", retain=True)
    client = await stage.client("a")
    await client.send_all(mqtt_bytes.subscribe(1, ("+/x", 1)))
    await stage.deliver(stage.topic("x"), b"end", qos=1)
    assert b"hidden" not in await client.take_payloads_until(b"end")


async def test_retained_messages_of_overlapping_filters_come_for_each_subscription(
    stage: Stage,
) -> None:
    await stage.deliver(stage.topic("x"), b"retained", retain=True)
    client = await stage.client("a")
    for topic_filter in ("x", "+", "#"):
        await client.subscribe((stage.topic(topic_filter), 1))
        message = await client.take()
        assert (message.payload, message.retain) == (b"retained", True)


async def test_a_retained_qos_2_message_is_retained_at_its_pubrel(stage: Stage) -> None:
    client = await stage.client("a")
    await client.publish(stage.topic("x"), b"held", qos=2, packet_id=1, retain=True)
    await client.find(mqtt_bytes.Kind.PUBREC, 1)
    assert await stage.retained_of(stage.topic("x"), wanted=0) == []
    await client.acknowledge(mqtt_bytes.Kind.PUBREL, 1)
    await client.find(mqtt_bytes.Kind.PUBCOMP, 1)
    assert await stage.retained_of(stage.topic("x"), wanted=1) == [b"held"]
