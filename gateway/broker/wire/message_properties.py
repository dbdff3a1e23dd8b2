"""Properties of the PUBLISH packets that a server forwards (MQTT 5.0 section 3.3.2.3).

Some properties belong to the message, and are forwarded unchanged and in order. The message expiry
interval is reduced by the time that the message waited in the server. Subscription identifiers and
the topic alias are set for each outgoing connection.
"""

from typing import Final

from gateway.broker.wire.properties import Properties
from gateway.broker.wire.property_encoder import encode_properties
from gateway.broker.wire.writing import variable_byte_integer

NO_PROPERTIES: Final = b"\x00"
NEVER: Final = -1
EXPIRY_SECONDS_MAX: Final = 0xFFFF_FFFF
"""Maximum message expiry interval in seconds: a four-byte integer (5.0 section 3.3.2.3.3)."""


def forwarded_of(properties: Properties | None) -> bytes:
    """Encode the properties that a server forwards unchanged, without a length field.

    These are the payload format indicator, content type, response topic, correlation data and user
    properties [MQTT5-3.3.2-4], [MQTT5-3.3.2-15], [MQTT5-3.3.2-16], [MQTT5-3.3.2-17],
    [MQTT5-3.3.2-18], [MQTT5-3.3.2-20].
    """
    if properties is None:
        return b""
    kept = Properties()
    kept.payload_format_indicator = properties.payload_format_indicator
    kept.content_type = properties.content_type
    kept.response_topic = properties.response_topic
    kept.correlation_data = properties.correlation_data
    kept.user_properties = properties.user_properties
    encoded = encode_properties(kept)
    length_bytes = 1
    while encoded[length_bytes - 1] & 0x80:
        length_bytes += 1
    return encoded[length_bytes:]


def properties_field_of(
    expiry_seconds: int, forwarded: bytes, identifiers: list[int], alias: int
) -> bytes:
    """Encode the properties of an outgoing PUBLISH, including the length field.

    `expiry_seconds` is the time until the message expires, at most EXPIRY_SECONDS_MAX, or NEVER if
    it does not expire. `forwarded` is the result of `forwarded_of`. `identifiers` are the
    subscription identifiers. `alias` is the topic alias, or 0 for none.
    """
    body = forwarded
    if expiry_seconds != NEVER:
        body = b"\x02" + expiry_seconds.to_bytes(4, "big") + body
    for identifier in identifiers:
        body += b"\x0b" + variable_byte_integer(identifier)
    if alias:
        body += b"\x23" + alias.to_bytes(2, "big")
    return variable_byte_integer(len(body)) + body
