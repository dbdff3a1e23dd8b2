"""Sessions: what clean session 0 preserves, what clean session 1 discards, what a resumed session
receives again."""

from collections.abc import Callable

import pytest

from tests.peers.mqtt_bytes import Kind
from tests.system.stage import Stage


@pytest.mark.statement("MQTT-3.2.2-1", "MQTT-3.2.2-2", "MQTT-3.2.2-3")
async def test_session_present_shows_whether_the_broker_had_a_session(stage: Stage) -> None:
    presence = []
    for clean in (False, False, True, False, False):
        client = await stage.client("a", clean=clean)
        presence.append(client.session_present)
        await client.disconnect()
    assert presence == [False, True, False, False, True]


async def test_session_present_is_not_sent_to_mqtt_3_1_whose_connack_reserves_the_byte(
    stage: Stage,
) -> None:
    for _ in range(2):
        client = await stage.client("old", clean=False, level=3)
        assert not client.session_present
        await client.disconnect()


@pytest.mark.statement("MQTT-3.1.2-4", "MQTT-3.1.2-5", "MQTT-4.1.0-1", "MQTT-4.5.0-1")
async def test_messages_for_an_absent_client_wait_in_order_and_come_on_its_return(
    stage: Stage,
) -> None:
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("+"), 2))
    await client.disconnect()
    payloads = [b"%d" % number for number in range(50)]
    await stage.deliver(stage.topic("two"), *payloads, qos=2)
    await stage.deliver(stage.topic("one"), *payloads, qos=1)
    client = await stage.client("away", clean=False)
    assert client.session_present
    messages = [await client.take() for _ in range(100)]
    for name, qos in (("two", 2), ("one", 1)):
        taken = [each for each in messages if each.topic == stage.topic(name)]
        assert [each.payload for each in taken] == payloads
        assert {(each.qos, each.dup) for each in taken} == {(qos, False)}


async def test_qos_0_does_not_wait_for_an_absent_client_by_default(stage: Stage) -> None:
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    await client.disconnect()
    await stage.deliver(stage.topic("x"), b"volatile", qos=0)
    await stage.deliver(stage.topic("x"), b"kept", qos=1)
    client = await stage.client("away", clean=False)
    assert (await client.take()).payload == b"kept"


async def test_qos_0_waits_for_an_absent_client_where_mqueue_store_qos0_asks_for_it(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmqueue_store_qos0 = true")
    client = await stage.client("away", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    await client.disconnect()
    await stage.deliver(stage.topic("x"), b"volatile", qos=0)
    await stage.deliver(stage.topic("x"), b"kept", qos=1)
    client = await stage.client("away", clean=False)
    messages = [await client.take() for _ in range(2)]
    assert [(each.payload, each.qos) for each in messages] == [(b"volatile", 0), (b"kept", 1)]


@pytest.mark.statement("MQTT-3.1.2-6", "MQTT-3.1.4-3")
async def test_a_clean_connect_discards_what_was_there_and_leaves_nothing_itself(
    stage: Stage,
) -> None:
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("old"), 2))
    await client.publish(stage.topic("half"), b"half", qos=2, packet_id=3)
    await client.expect(Kind.PUBREC, 3)
    await client.disconnect()
    await stage.deliver(stage.topic("old"), b"queued")
    clean = await stage.client("a", clean=True)
    await clean.subscribe((stage.topic("of the clean one"), 2))
    await clean.disconnect()
    later = await stage.client("a", clean=False)
    assert not later.session_present
    await later.subscribe((stage.topic("new"), 2), (stage.topic("half"), 2))
    await later.acknowledge(Kind.PUBREL, 3)
    await later.expect(Kind.PUBCOMP, 3)
    await stage.deliver(stage.topic("old"), b"no")
    await stage.deliver(stage.topic("of the clean one"), b"no")
    await stage.deliver(stage.topic("new"), b"yes")
    assert (await later.take()).payload == b"yes"


@pytest.mark.statement("MQTT-4.4.0-1", "MQTT-3.3.1-1", "MQTT-2.3.1-3", "MQTT-4.6.0-1")
@pytest.mark.parametrize("qos", [1, 2])
async def test_unacknowledged_messages_come_again_in_order_with_dup_and_their_packet_ids(
    stage: Stage, qos: int
) -> None:
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), qos))
    await stage.deliver(stage.topic("x"), b"1", b"2", b"3", qos=qos)
    first = [await client.expect(Kind.PUBLISH) for _ in range(3)]
    assert [(each.payload, each.dup) for each in first] == [
        (b"1", False),
        (b"2", False),
        (b"3", False),
    ]
    client.cut()
    client = await stage.client("a", clean=False)
    again = [await client.expect(Kind.PUBLISH) for _ in range(3)]
    assert [(each.payload, each.dup) for each in again] == [
        (b"1", True),
        (b"2", True),
        (b"3", True),
    ]
    assert [each.packet_id for each in again] == [each.packet_id for each in first]
    assert [each.qos for each in again] == [qos] * 3


@pytest.mark.statement("MQTT-4.4.0-1", "MQTT-4.3.3-1", "MQTT-4.6.0-4")
async def test_a_resume_sends_pubrel_where_pubrec_had_come_and_publish_where_not(
    stage: Stage,
) -> None:
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"1", b"2", b"3", b"4")
    sent = [await client.expect(Kind.PUBLISH) for _ in range(4)]
    for message in sent[:2]:
        await client.acknowledge(Kind.PUBREC, message.packet_id)
        await client.expect(Kind.PUBREL, message.packet_id)
    client.cut()
    for _ in range(2):
        client = await stage.client("a", clean=False)
        resumed = [await client.receive() for _ in range(4)]
        assert [(each.kind, each.packet_id) for each in resumed] == [
            (Kind.PUBREL, sent[0].packet_id),
            (Kind.PUBREL, sent[1].packet_id),
            (Kind.PUBLISH, sent[2].packet_id),
            (Kind.PUBLISH, sent[3].packet_id),
        ]
        client.cut()


@pytest.mark.statement("MQTT-4.3.3-1")
async def test_what_was_acknowledged_does_not_come_again(stage: Stage) -> None:
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    await stage.deliver(stage.topic("x"), b"taken at 2")
    await stage.deliver(stage.topic("x"), b"taken at 1", qos=1)
    for _ in range(2):
        await client.take()
    # The PINGRESP proves that the acknowledgements before it were read.
    await client.ping()
    client.cut()
    client = await stage.client("a", clean=False)
    await stage.deliver(stage.topic("x"), b"new")
    message = await client.take()
    assert (message.payload, message.dup) == (b"new", False)


@pytest.mark.statement("MQTT-4.3.2-1", "MQTT-4.4.0-1")
@pytest.mark.parametrize("qos", [1, 2])
async def test_an_acknowledgement_in_the_last_bytes_of_a_connection_counts(
    stage: Stage, qos: int
) -> None:
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), qos))
    await stage.deliver(stage.topic("x"), b"1", b"2", qos=qos)
    first = await client.expect(Kind.PUBLISH)
    second = await client.expect(Kind.PUBLISH)
    await client.acknowledge(Kind.PUBACK if qos == 1 else Kind.PUBREC, first.packet_id)
    client.close()
    client = await stage.client("a", clean=False)
    if qos == 2:
        await client.expect(Kind.PUBREL, first.packet_id)
    again = await client.expect(Kind.PUBLISH, second.packet_id)
    assert (again.payload, again.dup) == (b"2", True)


@pytest.mark.statement("MQTT-4.3.3-2", "MQTT-4.1.0-1")
async def test_a_message_half_received_before_a_cut_is_finished_once_after_it(
    stage: Stage,
) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("x"), 2))
    client = await stage.client("a", clean=False)
    await client.publish(stage.topic("x"), b"once", qos=2, packet_id=9)
    await client.expect(Kind.PUBREC, 9)
    client.cut()
    client = await stage.client("a", clean=False)
    await client.publish(stage.topic("x"), b"once", qos=2, packet_id=9, dup=True)
    await client.expect(Kind.PUBREC, 9)
    await client.acknowledge(Kind.PUBREL, 9)
    await client.expect(Kind.PUBCOMP, 9)
    client.cut()
    client = await stage.client("a", clean=False)
    await client.acknowledge(Kind.PUBREL, 9)
    await client.expect(Kind.PUBCOMP, 9)
    assert (await watcher.take()).payload == b"once"
    await stage.deliver(stage.topic("x"), b"end")
    assert (await watcher.take()).payload == b"end"


async def test_the_two_directions_of_a_client_do_not_share_packet_ids(stage: Stage) -> None:
    client = await stage.client("both", clean=False)
    await client.subscribe((stage.topic("in"), 2))
    await stage.deliver(stage.topic("in"), b"to the client")
    incoming = await client.expect(Kind.PUBLISH)
    same = incoming.packet_id
    await client.publish(stage.topic("out"), b"from the client", qos=2, packet_id=same)
    await client.expect(Kind.PUBREC, same)
    await client.acknowledge(Kind.PUBREC, same)
    await client.expect(Kind.PUBREL, same)
    await client.acknowledge(Kind.PUBREL, same)
    await client.expect(Kind.PUBCOMP, same)
    await client.acknowledge(Kind.PUBCOMP, same)
    await client.ping()
    client.cut()
    client = await stage.client("both", clean=False)
    await stage.deliver(stage.topic("in"), b"next")
    assert (await client.take()).payload == b"next"


@pytest.mark.statement("MQTT-3.2.0-1")
async def test_a_resume_begins_with_the_connack(stage: Stage) -> None:
    client = await stage.client("a", clean=False)
    await client.subscribe((stage.topic("x"), 1))
    client.cut()
    await stage.deliver(stage.topic("x"), b"queued", qos=1)
    client = await stage.open()
    connack = await client.connect(stage.client_id("a"), clean=False)
    assert connack.session_present
    assert (await client.take()).payload == b"queued"


async def test_acknowledgements_for_packet_ids_that_were_never_sent_change_nothing(
    stage: Stage,
) -> None:
    client = await stage.client("confused", clean=False)
    await client.subscribe((stage.topic("x"), 2))
    for kind in (Kind.PUBACK, Kind.PUBCOMP, Kind.PUBREC):
        await client.acknowledge(kind, 4711)
    await stage.deliver(stage.topic("x"), b"fine")
    assert (await client.take()).payload == b"fine"
