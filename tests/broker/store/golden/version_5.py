"""The few MQTT 5.0 packets of the golden directories, written from the standard."""

from dataclasses import dataclass

from tests.peers.mqtt_bytes import Kind, Received, packet, string

NEVER = 0xFFFFFFFF
SESSION_EXPIRY = b"\x11" + NEVER.to_bytes(4, "big")
MESSAGE_EXPIRY = 2
SUBSCRIPTION_IDENTIFIER = 0x0B
USER_PROPERTY = b"\x26" + string("unit") + string("Cel")

EXPIRY_SECONDS = 2_000_000_000
"""Of a message that must still be there when a later version reads the directory: 63 years."""


def connect(client_id: str, *, lasting: bool) -> bytes:
    """CONNECT; a session that lasts never expires."""
    properties = SESSION_EXPIRY if lasting else b""
    header = string("MQTT") + bytes([5, 0 if lasting else 2, 0, 0])
    header += bytes([len(properties)]) + properties
    return packet(Kind.CONNECT, 0, header + string(client_id))


def subscribe(packet_id: int, topic_filter: str, qos: int, identifier: int) -> bytes:
    """SUBSCRIBE with a subscription identifier (below 128)."""
    properties = bytes([2, SUBSCRIPTION_IDENTIFIER, identifier])
    body = packet_id.to_bytes(2, "big") + properties + string(topic_filter) + bytes([qos])
    return packet(Kind.SUBSCRIBE, 2, body)


def publish(topic: str, payload: bytes, packet_id: int) -> bytes:
    """PUBLISH of QoS 1 with a user property and a message expiry interval."""
    properties = bytes([MESSAGE_EXPIRY]) + EXPIRY_SECONDS.to_bytes(4, "big") + USER_PROPERTY
    body = string(topic) + packet_id.to_bytes(2, "big") + bytes([len(properties)]) + properties
    return packet(Kind.PUBLISH, 2, body + payload)


@dataclass(frozen=True)
class Published:
    """A PUBLISH of 5.0 as it came."""

    topic: str
    payload: bytes
    properties: bytes


def published_of(received: Received) -> Published:
    """Take the properties (less than 128 bytes) off a PUBLISH of QoS 1 or 2."""
    after_id = 2 + int.from_bytes(received.body[:2], "big") + 2
    length = received.body[after_id]
    properties = received.body[after_id + 1 : after_id + 1 + length]
    return Published(received.topic, received.body[after_id + 1 + length :], properties)
