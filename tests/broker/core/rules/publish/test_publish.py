"""PUBLISH at QoS 0 and 1: the acknowledgement, its reason code, and when its identifier is free."""

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
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import (
    connect,
    end_of,
    publish,
    subscriber,
)


@pytest.mark.statement("MQTT5-4.13.2-1")
@pytest.mark.parametrize("version", [4, 5])
def test_qos_1_messages_that_wait_for_the_disk_count_towards_the_receive_maximum(
    tmp_path: Path, version: int
) -> None:
    limits = Limits()
    limits.max_awaiting_rel = 2
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c") if version == 5 else harness.connect("c")
    for _ in range(3):
        client.send(Publish("t", b"x", 1, False, False, 1), Publish("t", b"x", 1, False, False, 2))
        assert client.connection.receiving == 2
        harness.commit()
        assert client.connection.receiving == 0
    client.send(*(Publish("t", b"x", 1, False, False, number) for number in (1, 2, 3)))
    harness.commit()
    if version == 5:
        assert end_of(client) == 0x93
    else:
        assert not client.closed, "3.1.1 has no receive maximum"
    harness.close()


@pytest.mark.statement("MQTT5-4.3.3-9")
def test_what_a_session_cannot_hold_is_refused_with_quota_exceeded_and_its_identifier_is_free(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_awaiting_rel = 2
    harness = Harness(tmp_path, limits)
    for packet_id in (1, 2):
        client = connect(harness, "c")
        client.send(Publish("t", b"x", 2, False, False, packet_id))
        harness.commit()
        harness.lose(client)
    client = connect(harness, "c")
    client.send(Publish("t", b"too many", 2, False, False, 3))
    harness.commit()
    assert client.take()[1:] == [Pubrec(3, 0x97)]
    assert harness.broker.statistics.errors == {"max_awaiting_rel": 1}
    client.send(Pubrel(1), Publish("t", b"fits", 2, False, False, 3))
    harness.commit()
    assert sorted(harness.session("c").inbound) == [2, 3]
    harness.close()


@pytest.mark.statement("MQTT5-3.7.2.1-1", "MQTT5-3.6.2-1")
def test_an_older_client_receives_the_same_without_reason_codes(harness: Harness) -> None:
    client = harness.connect("c")
    client.take()
    client.send(Pubrec(8), Pubrel(11))
    harness.commit()
    assert client.take() == [Pubrel(8), Pubcomp(11)]


@pytest.mark.statement("MQTT5-4.3.2-4", "MQTT5-4.3.3-8", "MQTT5-2.2.1-5", "MQTT5-3.3.4-1")
def test_a_publisher_learns_that_no_client_subscribes(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    publish(harness, client, "t", b"x", 1)
    publish(harness, client, "t", b"x", 2)
    client.send(Pubrel(2))
    harness.commit()
    assert client.take() == [Puback(1, 0x10), Pubrec(2, 0x10), Pubcomp(2)]
    subscriber(harness, "s", "t", 1)
    publish(harness, client, "t", b"x", 1)
    publish(harness, client, "t", b"x", 2)
    assert client.take() == [Puback(1), Pubrec(2)]


@pytest.mark.statement("MQTT5-3.3.1-3", "MQTT5-4.3.1-1")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_dup_flag_of_the_publisher_goes_no_further(harness: Harness, qos: int) -> None:
    watch = subscriber(harness, "watch", "t", qos)
    client = connect(harness, "c")
    client.send(Publish("t", b"x", 2, False, True, 7), Pubrel(7))
    harness.commit()
    (packet,) = publishes(watch.take())
    assert (packet.dup, packet.qos) == (False, qos)


@pytest.mark.statement("MQTT5-4.3.2-5")
def test_an_identifier_is_new_after_its_puback(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "t", 1)
    client = connect(harness, "c")
    client.take()
    for dup in (False, True):
        client.send(Publish("t", b"x", 1, False, dup, 7))
        harness.commit()
        assert client.take() == [Puback(7)]
    assert payloads(watch.take()) == [b"x", b"x"]
