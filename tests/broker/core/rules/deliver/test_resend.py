"""Messages in flight are sent again: in order, within the window, PUBREL before PUBLISH."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from tests.broker.core.draining import drain
from tests.broker.core.harness import Harness, payloads, publish_many, publishes
from tests.broker.core.mqtt5 import connect, publish, subscriber


@pytest.mark.statement("MQTT5-4.4.0-1", "MQTT5-4.6.0-1", "MQTT5-3.3.4-9")
def test_a_resume_with_a_smaller_receive_maximum_sends_the_rest_in_order_as_it_opens(
    harness: Harness,
) -> None:
    client = subscriber(harness, "c", "t", 1)
    publish_many(harness, 6)
    assert len(publishes(client.take())) == 6
    harness.lose(client)
    again = connect(harness, "c", receive_maximum=2)
    publish_many(harness, 2)  # after the first six
    packets = publishes(again.take())
    assert [(packet.payload, packet.dup) for packet in packets] == [(b"0", True), (b"1", True)]
    again.received.extend(packets)
    seen = drain(harness, again)
    assert [packet.payload for packet in seen] == [b"%d" % n for n in (0, 1, 2, 3, 4, 5, 0, 1)]
    assert [packet.dup for packet in seen] == [True] * 6 + [False] * 2
    assert not harness.session("c").outbound


@pytest.mark.parametrize("qos", [1, 2])
def test_what_is_acknowledged_before_it_was_sent_again_is_not_sent_again(
    harness: Harness, qos: int
) -> None:
    client = subscriber(harness, "c", "t", qos)
    publish_many(harness, 3, qos)
    sent = publishes(client.take())
    harness.lose(client)
    again = connect(harness, "c", receive_maximum=1)
    assert payloads(again.take()) == [b"0"]
    # The client had received all messages, and acknowledges late.
    answer = Puback if qos == 1 else Pubrec
    again.send(answer(sent[1].packet_id), answer(sent[2].packet_id))
    harness.commit()
    assert payloads(again.take()) == []
    again.send(answer(sent[0].packet_id))
    if qos == 2:
        again.send(*(Pubcomp(packet.packet_id) for packet in sent))
    harness.commit()
    assert payloads(again.take()) == []
    assert not harness.session("c").outbound
    assert not harness.session("c").unsent


def test_a_resumed_message_that_became_too_large_ends_its_exchange(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 1)
    publish(harness, connect(harness, "p"), "t", b"x" * 100)
    harness.lose(client)
    client = connect(harness, "c", maximum_packet_size_bytes=60)
    assert publishes(client.take()) == []
    assert not harness.session("c").outbound
    harness.cut()
    assert not harness.session("c").outbound


@pytest.mark.statement("MQTT5-4.4.0-1")
def test_nothing_is_sent_again_on_the_same_connection(tmp_path: Path) -> None:
    limits = Limits()
    limits.retry_interval_seconds = 1
    harness = Harness(tmp_path, limits)
    client = subscriber(harness, "c", "t", 1)
    older = harness.subscriber("older", "t", 1)
    publish_many(harness, 1)
    assert len(publishes(client.take())) == len(publishes(older.take())) == 1
    harness.advance(5)
    assert publishes(client.take()) == []
    assert len(publishes(older.take())) > 0
    harness.close()


@pytest.mark.statement("MQTT-4.6.0-4", "MQTT5-4.6.0-4")
@pytest.mark.parametrize("cut", ["no", "journal", "tables"])
def test_pubrels_are_sent_again_in_the_order_of_the_pubrecs(harness: Harness, cut: str) -> None:
    client = subscriber(harness, "c", "t", 2)
    publisher = harness.connect("p", clean=True)
    for number in (1, 2, 3):
        publisher.send(Publish("t", b"x", 2, False, False, number), Pubrel(number))
    harness.commit()
    first, second, third = (packet.packet_id for packet in publishes(client.take()))
    order = [third, first, second]
    client.send(*(Pubrec(packet_id) for packet_id in order))
    harness.commit()
    assert client.take() == [Pubrel(packet_id) for packet_id in order]
    if cut == "tables":
        harness.checkpoint()
    if cut != "no":
        harness.cut()
    else:
        harness.lose(client)
    _, *again = connect(harness, "c").take()
    assert again == [Pubrel(packet_id) for packet_id in order]
