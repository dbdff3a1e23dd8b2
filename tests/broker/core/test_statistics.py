"""Counters of packets in both directions."""

from gateway.broker.wire.packets import (
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from tests.broker.core.harness import Harness


def test_packets_are_counted_by_kind_in_both_directions(harness: Harness) -> None:
    reader = harness.subscriber("reader", "#", 2)
    writer = harness.connect("writer")
    writer.send(Publish("t", b"12345", 2, False, False, 5), Pubrel(5))
    harness.commit()
    reader.send(Pubrec(1))
    harness.commit()
    reader.send(Pubcomp(1))
    harness.commit()
    statistics, sent = harness.broker.statistics, harness.broker.statistics.packets_sent
    kinds = {"CONNECT": 1, "PUBREC": 5, "PUBREL": 6, "PUBCOMP": 7, "SUBSCRIBE": 8}
    received = {name: statistics.packets_received[kind] for name, kind in kinds.items()}
    assert received == {"CONNECT": 2, "PUBREC": 1, "PUBREL": 1, "PUBCOMP": 1, "SUBSCRIBE": 1}
    kinds = {"CONNACK": 2, "PUBREC": 5, "PUBREL": 6, "PUBCOMP": 7, "SUBACK": 9}
    made = {name: sent[kind] for name, kind in kinds.items()}
    assert made == {"CONNACK": 2, "PUBREC": 1, "PUBREL": 1, "PUBCOMP": 1, "SUBACK": 1}
    assert statistics.publishes_received_total() == statistics.publishes_sent_total() == 1
    assert statistics.publish_bytes_received == statistics.publish_bytes_sent == 5
    assert statistics.packets_received_total == 7
    harness.lose(reader)
    harness.connect("reader")
    assert statistics.publishes_sent_total() == 1


def test_a_repeated_and_a_resent_publish_count_as_packets(harness: Harness) -> None:
    reader = harness.subscriber("reader", "#", 1)
    writer = harness.connect("writer")
    writer.send(Publish("t", b"1", 2, False, False, 5), Publish("t", b"1", 2, False, True, 5))
    writer.send(Pubrel(5))
    harness.commit()
    harness.lose(reader)
    harness.connect("reader")
    statistics = harness.broker.statistics
    assert statistics.publishes_received_total() == 2
    assert statistics.publishes_sent_total() == 2
    assert statistics.publish_bytes_sent == 2
