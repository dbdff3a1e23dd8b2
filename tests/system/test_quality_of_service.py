"""QoS 0, 1 and 2 in both directions: the handshakes, the table of granted QoS, the order."""

from collections.abc import Callable

import pytest

from tests.peers.mqtt_bytes import Kind, acknowledgement, publish
from tests.system.stage import Stage

table = pytest.mark.parametrize(
    ("published", "granted"),
    [(published, granted) for published in range(3) for granted in range(3)],
)


@pytest.mark.statement(
    "MQTT-3.8.4-6", "MQTT-3.3.4-1", "MQTT-2.3.1-5", "MQTT-3.3.1-2", "MQTT-4.3.1-1"
)
@table
async def test_a_message_is_delivered_at_the_lower_of_published_and_granted_qos(
    stage: Stage, published: int, granted: int
) -> None:
    client = await stage.client("a")
    assert await client.subscribe((stage.topic("x"), granted)) == [granted]
    await stage.deliver(stage.topic("x"), b"payload", qos=published)
    message = await client.take()
    assert (message.payload, message.qos) == (b"payload", min(published, granted))
    assert not message.dup
    assert not message.retain
    assert (message.packet_id == 0) == (message.qos == 0)


@pytest.mark.statement("MQTT-3.8.4-6", "MQTT-3.1.2-5")
@table
async def test_a_message_that_waited_is_delivered_at_the_lower_of_the_two_and_qos_0_not_at_all(
    stage: Stage, published: int, granted: int
) -> None:
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("x"), granted), (stage.topic("end"), 2))
    await client.disconnect()
    await stage.deliver(stage.topic("x"), b"payload", qos=published)
    await stage.deliver(stage.topic("end"), b"end")
    client = await stage.client("away", clean=False)
    lower = min(published, granted)
    messages = [await client.take()]
    while messages[-1].payload != b"end":
        messages.append(await client.take())
    assert [(each.payload, each.qos) for each in messages[:-1]] == [(b"payload", lower)] * (
        lower > 0
    )


@pytest.mark.statement("MQTT-4.3.2-2", "MQTT-2.3.1-6")
async def test_a_qos_1_publish_is_acknowledged_with_its_packet_id(stage: Stage) -> None:
    client = await stage.client("a")
    for packet_id in (1, 255, 256, 65535):
        await client.publish(stage.topic("x"), b"", qos=1, packet_id=packet_id)
        await client.expect(Kind.PUBACK, packet_id)


@pytest.mark.statement("MQTT-4.3.3-2", "MQTT-2.3.1-6")
async def test_a_qos_2_publish_is_answered_with_pubrec_and_its_pubrel_with_pubcomp(
    stage: Stage,
) -> None:
    client = await stage.client("a")
    for packet_id in (1, 255, 256, 65535):
        await client.publish(stage.topic("x"), b"", qos=2, packet_id=packet_id)
        await client.expect(Kind.PUBREC, packet_id)
        await client.acknowledge(Kind.PUBREL, packet_id)
        await client.expect(Kind.PUBCOMP, packet_id)


@pytest.mark.statement("MQTT-4.3.3-2")
async def test_a_qos_2_message_is_delivered_at_its_pubrel_and_not_before(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a")
    await client.publish(stage.topic("x"), b"held", qos=2, packet_id=1)
    await client.expect(Kind.PUBREC, 1)
    await stage.deliver(stage.topic("x"), b"first")
    assert (await watcher.take()).payload == b"first"
    await client.acknowledge(Kind.PUBREL, 1)
    assert (await watcher.take()).payload == b"held"


@pytest.mark.statement("MQTT-4.3.3-2")
async def test_a_publish_repeated_before_pubrel_is_acknowledged_and_not_delivered_twice(
    stage: Stage,
) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a")
    for repeat in range(4):
        await client.publish(stage.topic("x"), b"once", qos=2, packet_id=1, dup=repeat > 0)
        await client.expect(Kind.PUBREC, 1)
    await client.acknowledge(Kind.PUBREL, 1)
    await client.expect(Kind.PUBCOMP, 1)
    await stage.deliver(stage.topic("x"), b"end")
    assert await watcher.take_payloads_until(b"end") == [b"once"]


@pytest.mark.statement("MQTT-4.3.3-2")
async def test_a_packet_id_is_free_for_a_new_message_after_its_pubrel(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a")
    for payload in (b"one", b"two"):
        await client.publish(stage.topic("x"), payload, qos=2, packet_id=1)
        await client.expect(Kind.PUBREC, 1)
        await client.acknowledge(Kind.PUBREL, 1)
        await client.expect(Kind.PUBCOMP, 1)
        assert (await watcher.take()).payload == payload


async def test_a_pubrel_for_an_unknown_packet_id_is_answered_with_pubcomp(stage: Stage) -> None:
    client = await stage.client("a")
    for _ in range(2):
        await client.acknowledge(Kind.PUBREL, 77)
        await client.expect(Kind.PUBCOMP, 77)


@pytest.mark.statement("MQTT-4.3.2-2")
async def test_a_qos_1_publish_that_comes_again_after_its_puback_is_a_new_message(
    stage: Stage,
) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 1))
    client = await stage.client("a")
    for dup in (False, True):
        await client.publish(stage.topic("x"), b"again", qos=1, packet_id=1, dup=dup)
        await client.expect(Kind.PUBACK, 1)
    assert [(await watcher.take()).payload for _ in range(2)] == [b"again"] * 2


@pytest.mark.statement("MQTT-3.3.1-3")
async def test_the_dup_flag_of_a_publisher_is_not_passed_on(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a")
    await client.publish(stage.topic("x"), b"1", qos=1, packet_id=1, dup=True)
    await client.publish(stage.topic("x"), b"2", qos=2, packet_id=2, dup=True)
    await client.find(Kind.PUBREC, 2)
    await client.acknowledge(Kind.PUBREL, 2)
    assert [(await watcher.take()).dup for _ in range(2)] == [False, False]


@pytest.mark.statement("MQTT-4.3.3-1", "MQTT-4.3.2-1", "MQTT-2.3.1-4")
async def test_the_broker_sends_each_unacknowledged_message_under_an_id_of_its_own(
    stage: Stage,
) -> None:
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), *[b"x"] * 20)
    packet_ids = [(await client.expect(Kind.PUBLISH)).packet_id for _ in range(20)]
    assert len(set(packet_ids)) == 20
    assert 0 not in packet_ids


@pytest.mark.statement("MQTT-4.3.3-1")
async def test_a_repeated_pubrec_is_answered_with_pubrel_again(stage: Stage) -> None:
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"x")
    packet_id = (await client.expect(Kind.PUBLISH)).packet_id
    for _ in range(3):
        await client.acknowledge(Kind.PUBREC, packet_id)
        await client.expect(Kind.PUBREL, packet_id)
    await client.acknowledge(Kind.PUBCOMP, packet_id)
    await client.ping()


@pytest.mark.statement("MQTT-4.6.0-2", "MQTT-4.6.0-3")
async def test_acknowledgements_come_in_the_order_of_the_messages(stage: Stage) -> None:
    client = await stage.client("a")
    order = [9, 3, 7, 1, 8, 2, 65535, 40]
    for kind, qos in ((Kind.PUBACK, 1), (Kind.PUBREC, 2)):
        await client.send_all(
            b"".join(publish(stage.topic("x"), b"", qos=qos, packet_id=each) for each in order)
        )
        assert [(await client.expect(kind)).packet_id for _ in order] == order
    await client.send_all(b"".join(acknowledgement(Kind.PUBREL, each) for each in order))
    assert [(await client.expect(Kind.PUBCOMP)).packet_id for _ in order] == order


@pytest.mark.statement("MQTT-4.6.0-4")
async def test_pubrels_come_in_the_order_of_the_pubrecs(stage: Stage) -> None:
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), *[b"x"] * 5)
    packet_ids = [(await client.expect(Kind.PUBLISH)).packet_id for _ in range(5)]
    order = [packet_ids[index] for index in (0, 1, 2, 3, 4)]
    await client.send_all(b"".join(acknowledgement(Kind.PUBREC, each) for each in order))
    assert [(await client.expect(Kind.PUBREL)).packet_id for _ in order] == order


@pytest.mark.statement("MQTT-4.6.0-5", "MQTT-4.6.0-6")
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_a_burst_arrives_in_the_order_in_which_it_was_published(
    stage: Stage, qos: int
) -> None:
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), qos))
    # As many concurrent messages as max_awaiting_rel allows for a publisher, and more than one
    # window.
    for first in range(0, 300, 100):
        payloads = [b"%d" % number for number in range(first, first + 100)]
        await stage.burst(stage.topic("x"), payloads, qos=qos)
        assert [(await client.take()).payload for _ in payloads] == payloads


@pytest.mark.statement("MQTT-4.6.0-1", "MQTT-4.4.0-1")
@pytest.mark.parametrize("qos", [1, 2])
async def test_with_window_2_and_lost_acknowledgements_the_receiver_sees_1_2_3_2_3_4(
    new_stage: Callable[..., Stage], qos: int
) -> None:
    stage = new_stage("[mqtt]\nmax_inflight = 2")
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), qos))
    await stage.deliver(stage.topic("x"), b"1", b"2", b"3", b"4", qos=qos)
    seen = [await client.take(), await client.expect(Kind.PUBLISH)]
    seen.append(await client.expect(Kind.PUBLISH))
    client.cut()
    client = await stage.client("a", clean=False)
    seen += [await client.take() for _ in range(3)]
    assert [each.payload for each in seen] == [b"1", b"2", b"3", b"2", b"3", b"4"]
    assert [each.dup for each in seen] == [False, False, False, True, True, False]


@pytest.mark.statement("MQTT-4.6.0-1")
async def test_window_1_is_strict_order_even_with_every_connection_cut(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_inflight = 1")
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), 1))
    await stage.deliver(stage.topic("x"), b"1", b"2", b"3", qos=1)
    seen = []
    for _ in range(3):
        seen.append((await client.expect(Kind.PUBLISH)).payload)
        client.cut()
        client = await stage.client("a", clean=False)
        seen.append((await client.take()).payload)
    assert seen == [b"1", b"1", b"2", b"2", b"3", b"3"]


async def test_a_payload_of_every_size_class_arrives_as_it_was(stage: Stage) -> None:
    client = await stage.client("a")
    await client.subscribe((stage.topic("x"), 2))
    for length in (0, 1, 100, 127, 128, 16_383, 16_384, 65_536, 1_000_000):
        payload = bytes(index % 251 for index in range(length))
        for qos in (0, 2):
            await stage.deliver(stage.topic("x"), payload, qos=qos)
            assert (await client.take()).payload == payload


async def test_after_every_kind_of_flow_nothing_is_left_in_flight(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("#"), 2))
    for qos in range(3):
        await stage.deliver(stage.topic("x"), *[b"x"] * 10, qos=qos)
        for _ in range(10):
            await client.take()
    await client.publish(stage.topic("half"), b"half", qos=2, packet_id=9)
    await client.expect(Kind.PUBREC, 9)
    await stage.client("a", clean=True)
    await stage.eventually(
        lambda status: (
            status["inflight"] == status["awaiting_release"] == status["queued"]["messages"] == 0
        ),
        "nothing in flight, queued or awaiting release",
    )
    await stage.close()
    assert stage.broker.stop() == 0
    tables = ("inbound", "outbound", "queue", "messages")
    assert stage.broker.rows_of(*tables) == dict.fromkeys(tables, 0)
