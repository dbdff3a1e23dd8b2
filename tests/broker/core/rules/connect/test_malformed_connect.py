"""A malformed or too large CONNECT gets a CONNACK if its client can understand the reason."""

import pytest

from gateway.broker.wire.limits import CONNECT_PACKET_BYTES_MAX, USER_PROPERTIES_PER_PACKET_MAX
from gateway.broker.wire.packets import Connack
from gateway.broker.wire.writing import variable_byte_integer
from tests.broker.core.harness import Client, Harness

HEAD_5, HEAD_4 = b"\x00\x04MQTT\x05", b"\x00\x04MQTT\x04"
CLIENT_ID = b"\x00\x01c"
MALFORMED, PROTOCOL_ERROR, TOO_LARGE, QUOTA = 0x81, 0x82, 0x95, 0x97


def packet(body: bytes, first: int = 0x10) -> bytes:
    return bytes([first]) + variable_byte_integer(len(body)) + body


def of_properties(properties: bytes) -> bytes:
    field = variable_byte_integer(len(properties)) + properties
    return packet(HEAD_5 + b"\x02\x00\x00" + field + CLIENT_ID)


WRONG = {
    "user properties": (
        of_properties(b"\x26\x00\x01a\x00\x01b" * (USER_PROPERTIES_PER_PACKET_MAX + 1)),
        QUOTA,
    ),
    "too large": (b"\x10" + variable_byte_integer(CONNECT_PACKET_BYTES_MAX) + HEAD_5, TOO_LARGE),
    "unknown property": (of_properties(b"\x7f\x00"), MALFORMED),
    "foreign property": (of_properties(b"\x23\x00\x01"), PROTOCOL_ERROR),
    "receive maximum 0": (of_properties(b"\x21\x00\x00"), PROTOCOL_ERROR),
    "property twice": (of_properties(b"\x21\x00\x01\x21\x00\x01"), PROTOCOL_ERROR),
    "property length": (packet(HEAD_5 + b"\x02\x00\x00\x7f" + CLIENT_ID), MALFORMED),
    "cut off": (packet(HEAD_5 + b"\x02\x00\x00\x00\x00\x09c"), MALFORMED),
    "trailing": (packet(HEAD_5 + b"\x02\x00\x00\x00" + CLIENT_ID + b"x"), MALFORMED),
    "encoding": (packet(HEAD_5 + b"\x02\x00\x00\x00\x00\x01\xff"), MALFORMED),
    "reserved flag": (packet(HEAD_5 + b"\x03\x00\x00\x00" + CLIENT_ID), MALFORMED),
    "will QoS 3": (packet(HEAD_5 + b"\x1e\x00\x00\x00" + CLIENT_ID), MALFORMED),
    "fixed header": (packet(HEAD_5 + b"\x02\x00\x00\x00" + CLIENT_ID, first=0x11), MALFORMED),
}


def answer_of(client: Client) -> list[object]:
    client.harness.commit()
    return list(client.take())


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_connect_of_5_0_is_refused_with_the_reason(harness: Harness, name: str) -> None:
    data, code = WRONG[name]
    client = harness.open_connection(5)
    client.send_bytes(data)
    (connack,) = answer_of(client)
    assert isinstance(connack, Connack)
    assert connack.reason_code == code
    assert connack.properties is not None
    assert connack.properties.reason_string
    assert client.closed
    assert harness.broker.statistics.connections_refused == 1


@pytest.mark.parametrize("name", [each for each in WRONG if each != "fixed header"])
def test_the_answer_does_not_depend_on_how_the_bytes_arrive(harness: Harness, name: str) -> None:
    data, code = WRONG[name]
    client = harness.open_connection(5)
    for at in range(min(len(data), 40)):
        client.send_bytes(data[at : at + 1])
    client.send_bytes(data[40:])
    (connack,) = answer_of(client)
    assert isinstance(connack, Connack)
    assert connack.reason_code == code


def test_a_connect_of_3_1_1_that_is_too_large_is_refused(harness: Harness) -> None:
    client = harness.open_connection(4)
    client.send_bytes(b"\x10" + variable_byte_integer(CONNECT_PACKET_BYTES_MAX) + HEAD_4)
    assert answer_of(client) == [Connack(False, 3)]
    assert client.closed


@pytest.mark.statement("MQTT-3.1.4-1")
def test_an_older_client_with_a_wrong_connect_is_closed_without_a_connack(
    harness: Harness,
) -> None:
    client = harness.open_connection(4)
    client.send_bytes(packet(HEAD_4 + b"\x03\x00\x00" + CLIENT_ID))
    assert answer_of(client) == []
    assert client.closed


@pytest.mark.parametrize("data", [b"\x30\x03\x00\x01a", b"\x10\xff\xff\xff\xff\x01", b"GET / HTTP"])
def test_a_peer_whose_level_cannot_be_known_is_closed(harness: Harness, data: bytes) -> None:
    client = harness.open_connection(5)
    client.send_bytes(data)
    assert answer_of(client) == []
    assert client.closed
