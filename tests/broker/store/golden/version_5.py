"""The few MQTT 5.0 packets of the golden directories, written from the standard."""

from dataclasses import dataclass

from tests.peers.mqtt_bytes import Kind, Received, packet, string

NEVER = 0xFFFFFFFF
SESSION_EXPIRY = b"\x11" + NEVER.to_bytes(4, "big")
MESSAGE_EXPIRY = 2
SUBSCRIPTION_IDENTIFIER = 0x0B
USER_PROPERTY = b"\x26" + string("unit") + string("Cel")

EXPIRY_SECONDS = 2_000_000_000
"""Expiry interval of 63 years: later versions must still find the message."""


def connect(client_id: str, *, lasting: bool) -> bytes:
    """Return a CONNECT; if `lasting`, the session never expires."""
    properties = SESSION_EXPIRY if lasting else b""
    header = string("MQTT") + bytes([5, 0 if lasting else 2, 0, 0])
    header += bytes([len(properties)]) + properties
    return packet(Kind.CONNECT, 0, header + string(client_id))


def subscribe(packet_id: int, topic_filter: str, qos: int, identifier: int) -> bytes:
    """Return a SUBSCRIBE with a subscription identifier, which must be less than 128."""
    properties = bytes([2, SUBSCRIPTION_IDENTIFIER, identifier])
    body = packet_id.to_bytes(2, "big") + properties + string(topic_filter) + bytes([qos])
    return packet(Kind.SUBSCRIBE, 2, body)


def publish(topic: str, payload: bytes, packet_id: int) -> bytes:
    """Return a PUBLISH of QoS 1 with a user property and a message expiry interval."""
    properties = bytes([MESSAGE_EXPIRY]) + EXPIRY_SECONDS.to_bytes(4, "big") + USER_PROPERTY
    body = string(topic) + packet_id.to_bytes(2, "big") + bytes([len(properties)]) + properties
    return packet(Kind.PUBLISH, 2, body + payload)


@dataclass(frozen=True)
class Published:
    """A PUBLISH of 5.0 that a client received."""

    topic: str
    payload: bytes
    properties: bytes


def published_of(received: Received) -> Published:
    """Separate the properties, of less than 128 bytes, from the payload of a QoS 1 or 2 PUBLISH."""
    after_id = 2 + int.from_bytes(received.body[:2], "big") + 2
    length = received.body[after_id]
    properties = received.body[after_id + 1 : after_id + 1 + length]
    return Published(received.topic, received.body[after_id + 1 + length :], properties)
