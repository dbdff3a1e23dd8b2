"""SUBSCRIBE and UNSUBSCRIBE: wildcards, overlaps, replacement, and invalid filters."""

from collections.abc import Callable

import pytest

from tests.peers import mqtt_bytes
from tests.peers.mqtt_bytes import Kind, packet, string, subscribe
from tests.system.stage import Stage


@pytest.mark.statement("MQTT-4.7.1-2", "MQTT-4.7.1-3", "MQTT-3.3.2-3", "MQTT-3.8.3-2")
@pytest.mark.parametrize(
    ("topic_filter", "topic", "is_matched"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/B", False),
        ("a/b", "a", False),
        ("a", "a/b", False),
        ("a", "a/", False),
        ("a/", "a", False),
        ("/a", "a", False),
        ("a//b", "a//b", True),
        ("a//b", "a/b", False),
        ("+/b", "a/b", True),
        ("a/+", "a/b", True),
        ("a/+", "a/", True),
        ("a/+", "a", False),
        ("a/+", "a/b/c", False),
        ("a/+/c", "a/b/c", True),
        ("a/+/c", "a//c", True),
        ("a/+/c", "a/b/d", False),
        ("+", "a", True),
        ("+", "/a", False),
        ("+/+", "/a", True),
        ("/+", "/a", True),
        ("a/#", "a", True),
        ("a/#", "a/", True),
        ("a/#", "a/b/c", True),
        ("a/#", "ab", False),
        ("a/+/#", "a", False),
        ("a/+/#", "a/b", True),
        ("a/b/#", "a/c", False),
        ("+/+/+/#", "a/b/c/d/e", True),
        ("a b/ü", "a b/ü", True),
    ],
)
async def test_a_filter_gets_the_topics_it_matches_and_no_others(
    stage: Stage, topic_filter: str, topic: str, is_matched: bool
) -> None:
    # The first level belongs to this test, so that the filters of the table match no topic of other
    # tests.
    client = await stage.client("a")
    await client.subscribe((stage.topic(topic_filter), 1), (f"{stage.prefix}-end", 1))
    await stage.deliver(stage.topic(topic), b"payload", qos=1)
    await stage.deliver(f"{stage.prefix}-end", b"end", qos=1)
    assert await client.take_payloads_until(b"end") == [b"payload"] * is_matched


@pytest.mark.statement("MQTT-4.7.2-1")
async def test_a_leading_wildcard_does_not_match_topics_that_begin_with_a_dollar(
    new_stage: Callable[..., Stage],
) -> None:
    # This test has its own broker, because the filter # would also match messages that other tests
    # have retained.
    stage = new_stage()
    client = await stage.client("a")
    await client.subscribe(("#", 0), ("+/x", 0), (f"${stage.prefix}/named/#", 0))
    await stage.deliver(f"${stage.prefix}/x", b"hidden", qos=0)
    await stage.deliver(f"${stage.prefix}/named/x", b"named", qos=0)
    await stage.deliver(f"{stage.prefix}/x", b"end", qos=0)
    assert await client.take_payloads_until(b"end") == [b"named"]


@pytest.mark.statement("MQTT-3.3.5-1")
async def test_overlapping_filters_deliver_once_at_the_highest_qos(stage: Stage) -> None:
    client = await stage.client("a")
    await client.subscribe(
        (stage.topic("x/#"), 0), (stage.topic("x/+"), 2), (stage.topic("x/y"), 1)
    )
    await stage.deliver(stage.topic("x/y"), b"payload")
    message = await client.take()
    assert (message.payload, message.qos) == (b"payload", 2)
    await stage.deliver(stage.topic("x/y"), b"end")
    assert (await client.take()).payload == b"end"


@pytest.mark.statement("MQTT-3.3.5-1")
async def test_overlapping_filters_deliver_once_to_an_absent_client_too(stage: Stage) -> None:
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("x/#"), 1), (stage.topic("x/+"), 2))
    await client.disconnect()
    await stage.deliver(stage.topic("x/y"), b"payload", b"end")
    client = await stage.client("away", clean=False)
    assert [(await client.take()).payload for _ in range(2)] == [b"payload", b"end"]


@pytest.mark.statement(
    "MQTT-3.8.4-1",
    "MQTT-3.8.4-2",
    "MQTT-3.8.4-4",
    "MQTT-3.8.4-5",
    "MQTT-3.9.3-1",
    "MQTT-2.3.1-7",
)
async def test_one_suback_answers_each_filter_in_order_with_the_same_packet_id(
    stage: Stage,
) -> None:
    client = await stage.client("a")
    filters = [(stage.topic(f"{number}"), number % 3) for number in range(9)]
    await client.send_all(subscribe(4321, *filters))
    suback = await client.expect(Kind.SUBACK, 4321)
    assert suback.granted == [0, 1, 2] * 3


@pytest.mark.statement("MQTT-3.8.4-3", "MQTT-3.3.1-6")
async def test_the_same_filter_again_replaces_the_subscription_and_brings_retained_again(
    stage: Stage,
) -> None:
    await stage.deliver(stage.topic("x"), b"retained", retain=True)
    client = await stage.client("a")
    for qos in (2, 0, 1):
        assert await client.subscribe((stage.topic("+"), qos)) == [qos]
        message = await client.take()
        assert (message.payload, message.qos, message.retain) == (b"retained", qos, True)
    await stage.deliver(stage.topic("x"), b"live")
    message = await client.take()
    assert (message.payload, message.qos, message.retain) == (b"live", 1, False)


@pytest.mark.statement("MQTT-4.7.3-4")
async def test_topics_that_only_look_alike_are_different_topics(stage: Stage) -> None:
    client = await stage.client("a")
    composed, decomposed = stage.topic("\u00e9"), stage.topic("e\u0301")
    await client.subscribe((composed, 0), (stage.topic("end"), 0))
    for topic in (decomposed, composed, stage.topic("end")):
        await stage.deliver(topic, topic.encode(), qos=0)
    taken = await client.take_payloads_until(stage.topic("end").encode())
    assert taken == [composed.encode()]


@pytest.mark.statement("MQTT-1.5.3-3")
async def test_a_byte_order_mark_in_a_topic_is_a_character_like_any_other(stage: Stage) -> None:
    client = await stage.client("a")
    await client.subscribe(("\ufeff" + stage.topic("x"), 0), (stage.topic("x"), 0))
    await stage.deliver("\ufeff" + stage.topic("x"), b"marked", qos=0)
    assert (await client.take()).topic == "\ufeff" + stage.topic("x")
    await stage.deliver(stage.topic("x"), b"plain", qos=0)
    assert (await client.take()).payload == b"plain"


@pytest.mark.statement("MQTT-4.7.3-3")
async def test_topics_of_65535_bytes_are_topics(stage: Stage) -> None:
    topic = stage.topic("x" * (65535 - len(stage.topic(""))))
    client = await stage.client("a")
    assert await client.subscribe((topic, 1)) == [1]
    await stage.deliver(topic, b"long", qos=1)
    assert (await client.take()).topic == topic


INVALID_FILTERS = [b"a#", b"a/#/b", b"#/a", b"a+", b"+a", b"a/+b/c", b"##", b"++", b"a/#b"]


@pytest.mark.statement("MQTT-4.7.1-2", "MQTT-4.7.1-3", "MQTT-4.8.0-1")
@pytest.mark.parametrize("wrong", INVALID_FILTERS)
@pytest.mark.parametrize("verb", ["subscribe", "unsubscribe"])
async def test_a_misplaced_wildcard_closes_the_connection(
    stage: Stage, wrong: bytes, verb: str
) -> None:
    client = await stage.client("a")
    if verb == "subscribe":
        await client.send_all(subscribe(1, (wrong, 0)))
    else:
        await client.send_all(mqtt_bytes.unsubscribe(1, wrong))
    assert await client.expect_closed() == []


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            subscribe(1, (b"", 0)), id="empty", marks=pytest.mark.statement("MQTT-4.7.3-1")
        ),
        pytest.param(
            subscribe(1, (b"a\x00", 0)), id="U+0000", marks=pytest.mark.statement("MQTT-4.7.3-2")
        ),
        pytest.param(
            subscribe(1, (b"\xff", 0)), id="not UTF-8", marks=pytest.mark.statement("MQTT-3.8.3-1")
        ),
        pytest.param(subscribe(1), id="no filter", marks=pytest.mark.statement("MQTT-3.8.3-3")),
        pytest.param(
            subscribe(1, (b"a", 3)), id="QoS 3", marks=pytest.mark.statement("MQTT-3.8.3-4")
        ),
        pytest.param(
            subscribe(1, (b"a", 4)), id="reserved bits", marks=pytest.mark.statement("MQTT-3.8.3-4")
        ),
        pytest.param(
            subscribe(0, (b"a", 0)), id="packet id 0", marks=pytest.mark.statement("MQTT-2.3.1-1")
        ),
        pytest.param(
            packet(Kind.SUBSCRIBE, 0, b"\x00\x01" + string("a") + b"\x00"),
            id="flags",
            marks=pytest.mark.statement("MQTT-3.8.1-1"),
        ),
        pytest.param(packet(Kind.SUBSCRIBE, 2, b"\x00\x01" + string("a")), id="no QoS"),
        pytest.param(packet(Kind.SUBSCRIBE, 2, b"\x00\x01\x00\x09abc\x00"), id="filter cut short"),
        pytest.param(
            packet(Kind.UNSUBSCRIBE, 2, b"\x00\x01"),
            id="unsubscribe nothing",
            marks=pytest.mark.statement("MQTT-3.10.3-2"),
        ),
        pytest.param(
            mqtt_bytes.unsubscribe(1, b"\xc3\x28"),
            id="unsubscribe not UTF-8",
            marks=pytest.mark.statement("MQTT-3.10.3-1"),
        ),
        pytest.param(
            packet(Kind.UNSUBSCRIBE, 0, b"\x00\x01" + string("a")),
            id="unsubscribe flags",
            marks=pytest.mark.statement("MQTT-3.10.1-1"),
        ),
        pytest.param(mqtt_bytes.unsubscribe(0, b"a"), id="unsubscribe packet id 0"),
    ],
)
async def test_a_malformed_subscribe_or_unsubscribe_closes_the_connection(
    stage: Stage, wrong: bytes
) -> None:
    client = await stage.client("a")
    await client.send_all(wrong)
    assert await client.expect_closed() == []


@pytest.mark.statement("MQTT-3.10.4-1", "MQTT-3.10.4-2", "MQTT-3.10.4-4", "MQTT-3.10.4-6")
async def test_unsubscribe_removes_exactly_the_filters_it_names(stage: Stage) -> None:
    client = await stage.client("a")
    await client.subscribe(*[(stage.topic(name), 1) for name in ("a", "b", "+/x", "c/#")])
    await client.send_all(
        mqtt_bytes.unsubscribe(99, *map(stage.topic, ("a", "A", "b/x", "c/#", "+")))
    )
    assert (await client.expect(Kind.UNSUBACK, 99)).body == b"\x00\x63"
    for name in ("a", "c/d", "b", "b/x"):
        await stage.deliver(stage.topic(name), name.encode(), qos=1)
    assert [(await client.take()).payload for _ in range(2)] == [b"b", b"b/x"]


@pytest.mark.statement("MQTT-3.10.4-5")
async def test_unsubscribe_from_what_was_never_subscribed_is_acknowledged(stage: Stage) -> None:
    client = await stage.client("a")
    await client.unsubscribe(stage.topic("never"))


@pytest.mark.statement("MQTT-3.10.4-3")
async def test_deliveries_that_began_before_an_unsubscribe_are_completed_after_it(
    stage: Stage,
) -> None:
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"begun")
    begun = await client.expect(Kind.PUBLISH)
    await client.unsubscribe(stage.topic("x"))
    client.cut()
    client = await stage.client("a", clean=False)
    assert (await client.take()).packet_id == begun.packet_id


async def test_a_publisher_that_subscribes_to_its_own_topic_gets_its_messages(
    stage: Stage,
) -> None:
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), 2))
    for qos in (0, 1, 2):
        await client.deliver(stage.topic("x"), b"%d" % qos, qos=qos)
        assert (await client.take()).payload == b"%d" % qos
