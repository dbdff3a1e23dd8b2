"""The encoder: fast paths, fields that MQTT 3 lacks, and errors of our own code."""

import pytest

from gateway.broker.wire.encoder import PINGRESP, encode, publish_frame
from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Pingresp,
    Properties,
    Puback,
    Publish,
    Subscribe,
    Subscription,
)
from gateway.broker.wire.values import topic_field_of
from tests.broker.wire.vector_cases import Case, cases
from tests.broker.wire.vectors import VECTORS


def reason_string(text: str) -> Properties:
    properties = Properties()
    properties.reason_string = text
    return properties


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_pingresp_is_the_same_in_every_version(version: int) -> None:
    assert encode(Pingresp(), version) == PINGRESP


@pytest.mark.parametrize("payload_bytes", [0, 1, 100, 121, 122, 123, 124, 125, 126, 20_000])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_publish_frame_is_what_encode_makes_of_a_publish(
    payload_bytes: int, qos: int, version: int
) -> None:
    payload = b"x" * payload_bytes
    packet_id = 300 if qos else 0
    dup = qos > 0
    publish = Publish("a", payload, qos, True, dup, packet_id)
    frame = publish_frame(topic_field_of("a"), payload, qos, True, dup, packet_id, version, None)
    assert frame == encode(publish, version)


def test_mqtt_3_leaves_out_what_it_cannot_say() -> None:
    assert encode(Puback(1, 0x10, reason_string("x")), 4) == b"\x40\x02\x00\x01"
    assert encode(Connack(True, 0, reason_string("x")), 4) == b"\x20\x02\x01\x00"
    assert encode(Connack(True, 0), 3) == b"\x20\x02\x00\x00"
    wanted = Subscribe(1, [Subscription("a", 1, True, True, 2)], reason_string("x"))
    assert encode(wanted, 4) == b"\x82\x06\x00\x01\x00\x01a\x01"
    publish = Publish("a", b"", 0, False, False, 0, reason_string("x"))
    assert encode(publish, 4) == b"\x30\x03\x00\x01a"


def test_what_does_not_fit_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="expected 1 to 65535"):
        encode(Puback(0), 4)
    with pytest.raises(AssertionError, match="QoS 1 with packet identifier 0"):
        encode(Publish("a", b"", 1, False, False, 0), 4)
    with pytest.raises(AssertionError, match="AUTH at protocol level 4"):
        encode(Auth(0), 4)


@pytest.mark.parametrize("case", cases(VECTORS, *range(2, 16)))
def test_a_packet_is_encoded_to_the_same_bytes(case: Case) -> None:
    assert encode(case[0].packet, case[1]) == case[0].wire
