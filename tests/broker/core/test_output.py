"""The durability table of the architecture: what must be on disk before each response is sent."""

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.output import SealedBatch
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from tests.broker.core.harness import Harness, payloads, publishes


def test_pubrec_waits_for_the_commit_of_the_message(harness: Harness) -> None:
    publisher = harness.connect("p")
    publisher.take()
    publisher.send(Publish("t", b"1", 2, False, False, 7))
    harness.flush()
    assert publisher.take() == []
    harness.commit()
    assert publisher.take() == [Pubrec(7)]
    harness.cut()
    assert [held.message.payload for held in harness.session("p").inbound.values()] == [b"1"]


def test_pubcomp_and_the_delivery_wait_for_one_commit_of_release_and_queue_entries(
    harness: Harness,
) -> None:
    subscriber = harness.subscriber("s", "t", 2)
    publisher = harness.connect("p")
    publisher.send(Publish("t", b"1", 2, False, False, 7))
    harness.commit()
    publisher.take()
    batches = len(harness.blobs)
    publisher.send(Pubrel(7))
    harness.flush()
    assert (publisher.take(), subscriber.take()) == ([], [])
    harness.commit()
    assert len(harness.blobs) == batches + 1
    assert publisher.take() == [Pubcomp(7)]
    assert payloads(subscriber.take()) == [b"1"]


def test_a_clean_subscriber_gets_a_held_message_no_sooner_than_it_is_released_on_disk(
    harness: Harness,
) -> None:
    for qos in (0, 1, 2):
        harness.subscriber(f"s{qos}", "t", qos, clean=True)
    publisher = harness.connect("p")
    publisher.send(Publish("t", b"1", 2, False, False, 7))
    harness.commit()
    publisher.send(Pubrel(7))
    harness.flush()
    assert [client.take() for client in list(harness.clients.values())[:3]] == [[], [], []]
    harness.commit()
    subscribers = list(harness.clients.values())[:3]
    assert [payloads(client.take()) for client in subscribers] == [[b"1"]] * 3


def test_puback_waits_for_the_queue_entries(harness: Harness) -> None:
    harness.subscriber("s", "t", 1)
    publisher = harness.connect("p", clean=True)
    publisher.take()
    publisher.send(Publish("t", b"1", 1, False, False, 3))
    harness.flush()
    assert publisher.take() == []
    harness.commit()
    assert publisher.take() == [Puback(3)]


def test_an_outgoing_publish_waits_for_its_packet_identifier(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 1)
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("t", b"1", 1, False, False, 3))
    harness.flush()
    assert subscriber.take() == []
    harness.commit()
    (sent,) = publishes(subscriber.take())
    harness.cut()
    assert list(harness.session("s").outbound) == [sent.packet_id]


def test_pubrel_waits_for_the_record_of_pubrec(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 2)
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("t", b"1", 2, False, False, 3), Pubrel(3))
    harness.commit()
    (sent,) = publishes(subscriber.take())
    subscriber.send(Pubrec(sent.packet_id))
    harness.flush()
    assert subscriber.take() == []
    harness.commit()
    assert subscriber.take() == [Pubrel(sent.packet_id)]
    harness.cut()
    back = harness.connect("s")
    assert back.take() == [Connack(True, 0), Pubrel(sent.packet_id)]


@pytest.mark.parametrize("clean", [True, False])
def test_suback_and_unsuback_of_persistent_sessions_wait(harness: Harness, clean: bool) -> None:
    client = harness.connect("s", clean=clean)
    client.take()
    client.send(Subscribe(1, [Subscription("t", 1)]), Unsubscribe(2, ["t"]))
    harness.flush()
    answers = [Suback(1, [1]), Unsuback(2, [])]
    assert client.take() == (answers if clean else [])
    harness.commit()
    assert client.take() == ([] if clean else answers)


def test_connack_of_a_persistent_session_waits_and_nothing_overtakes_it(harness: Harness) -> None:
    publisher = harness.connect("p", clean=True)
    harness.subscriber("s", "t", 0)
    harness.cut()
    publisher = harness.connect("p", clean=True)
    client = harness.open_connection()
    client.send(Connect(4, "s", False, 0, None, None, None))
    client.send_bytes(b"\xc0\x00")
    publisher.send(Publish("t", b"0", 0, False, False, 0))
    harness.flush()
    assert client.take() == []
    harness.commit()
    assert isinstance(client.take()[0], Connack)


def test_qos_0_and_pingresp_wait_for_nothing(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 0)
    publisher = harness.connect("p")
    publisher.take()
    publisher.send(Publish("u", b"1", 2, False, False, 1))
    publisher.send(Publish("t", b"0", 0, False, False, 0))
    publisher.send_bytes(b"\xc0\x00")
    harness.flush()
    assert payloads(subscriber.take()) == [b"0"]
    assert [packet.kind for packet in publisher.take()] == [13]


@pytest.mark.parametrize("qos", [1, 2])
def test_granted_qos_0_a_message_that_needs_no_disk_waits_behind_one_that_does(
    harness: Harness, qos: int
) -> None:
    subscriber = harness.subscriber("s", "t", 0, clean=True)
    publisher = harness.connect("p", clean=True)
    for packet_id, retain in ((1, True), (2, False)):
        publisher.send(Publish("t", b"%d" % packet_id, qos, retain, False, packet_id))
    for packet_id in (1, 2):
        if qos == 2:
            publisher.send(Pubrel(packet_id))
    harness.flush()
    harness.commit()
    # [MQTT-4.6.0-6] Same topic, publisher and QoS; only the first message was recorded.
    assert payloads(subscriber.take()) == [b"1", b"2"]


def test_qos_0_that_came_before_connack_was_durable_leaves_right_behind_it(
    harness: Harness,
) -> None:
    harness.lose(harness.subscriber("s", "t", 0))
    harness.commit()
    publisher = harness.connect("p", clean=True)
    back = harness.open_connection()
    back.send(Connect(4, "s", False, 0, None, None, None))
    back.send(Pingreq())
    connack = harness.broker.seal(harness.now, harness.time_ms, harness.clock)
    publisher.send(Publish("t", b"1", 0, False, False, 0))
    harness.broker.committed(connack)
    publisher.send(Publish("t", b"2", 0, False, False, 0))
    harness.flush()
    seen = back.take()
    assert [type(packet) for packet in seen] == [Connack, Pingresp, Publish, Publish]
    assert payloads(seen) == [b"1", b"2"]
    harness.commit()


def test_what_was_withheld_for_a_connection_never_reaches_the_next_one(harness: Harness) -> None:
    first = harness.connect("c")
    first.take()
    first.send(Subscribe(9, [Subscription("t", 1)]))
    second = harness.connect("c")
    assert first.closed
    assert first.take() == []
    assert second.take() == [Connack(True, 0)]


def test_a_clean_session_needs_no_disk(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 2, clean=True)
    publisher = harness.connect("p", clean=True)
    harness.commit()
    publisher.take()
    before = len(harness.blobs)
    publisher.send(Publish("t", b"1", 2, False, False, 1), Pubrel(1))
    harness.commit()
    assert publisher.take() == [Pubrec(1), Pubcomp(1)]
    (sent,) = publishes(subscriber.take())
    subscriber.send(Pubrec(sent.packet_id), Pubcomp(sent.packet_id))
    harness.commit()
    assert len(harness.blobs) == before


def test_a_second_clean_connect_waits_as_the_first_for_the_end_of_the_old_session(
    harness: Harness,
) -> None:
    harness.lose(harness.connect("c"))
    harness.commit()
    clients = [harness.open_connection() for _ in range(3)]
    batches: list[SealedBatch] = []
    for client in clients:
        client.send(Connect(4, "c", True, 0, None, None, None))
        harness.flush()
        assert client.take() == [], "a cut would bring the session back"
        if not batches:
            # The end of the old session is being committed.
            batches.append(harness.broker.seal(harness.now, 0, ClockQuality.UNKNOWN))
    harness.broker.committed(batches[0])
    harness.commit()
    assert [type(packet) for packet in clients[-1].take()] == [Connack]
    harness.lose(clients[-1])
    late = harness.open_connection()
    late.send(Connect(4, "c", True, 0, None, None, None))
    harness.flush()
    assert len(late.take()) == 1, "nothing is pending any more"
