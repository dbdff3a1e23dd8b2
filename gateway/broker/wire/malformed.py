"""The exception that is raised when received bytes violate the standard.

``Malformed`` is raised only inside this package, so that nested parsers can stop immediately. The
Decoder catches the exception and stores it in its attribute `error`. ``reason`` is a name from
REASONS, which counters and the session log use. ``detail`` is a human-readable sentence, and
``reason_code`` is the MQTT 5.0 code to send.
"""

from typing import Final

from gateway.broker.wire.codes import MALFORMED_PACKET

# The only reasons.
UNSUPPORTED_PROTOCOL: Final = "unsupported_protocol"  # a protocol name or level unknown here
UNEXPECTED_PACKET: Final = "unexpected_packet"  # a packet that this peer may not send, or not now
RESERVED_FLAGS: Final = "reserved_flags"  # bits that the standard fixes have another value
REMAINING_LENGTH: Final = "remaining_length"  # a variable byte integer too long or not minimal
PACKET_TOO_LARGE: Final = "packet_too_large"  # declared larger than the maximum packet size
FIELD_TRUNCATED: Final = "field_truncated"  # a field runs over the end of its packet
TRAILING_BYTES: Final = "trailing_bytes"  # bytes left over after the last field
STRING_ENCODING: Final = "string_encoding"  # not UTF-8, or U+0000 in it
CONTROL_CHARACTER: Final = "control_character"  # U+0001 to U+001F, U+007F to U+009F in a topic
PACKET_ID_ZERO: Final = "packet_id_zero"
QOS_INVALID: Final = "qos_invalid"  # QoS 3
DUP_WITH_QOS_0: Final = "dup_with_qos_0"
CONNECT_FLAGS: Final = "connect_flags"  # will and password flags that contradict each other
TOPIC_NAME: Final = "topic_name"
TOPIC_FILTER: Final = "topic_filter"
NO_FILTERS: Final = "no_filters"  # SUBSCRIBE or UNSUBSCRIBE without a topic filter
TOO_MANY_ENTRIES: Final = "too_many_entries"  # more filters or properties than limits.py allows
SUBSCRIPTION_OPTIONS: Final = "subscription_options"
REASON_CODE: Final = "reason_code"  # a reason or return code this packet cannot carry
PROPERTY_LENGTH: Final = "property_length"
PROPERTY_UNKNOWN: Final = "property_unknown"
PROPERTY_FOREIGN: Final = "property_foreign"  # a property of another packet or direction
PROPERTY_DUPLICATE: Final = "property_duplicate"
PROPERTY_VALUE: Final = "property_value"
PROPERTY_MISSING: Final = "property_missing"  # one property requires another

REASONS: Final = (
    UNSUPPORTED_PROTOCOL,
    UNEXPECTED_PACKET,
    RESERVED_FLAGS,
    REMAINING_LENGTH,
    PACKET_TOO_LARGE,
    FIELD_TRUNCATED,
    TRAILING_BYTES,
    STRING_ENCODING,
    CONTROL_CHARACTER,
    PACKET_ID_ZERO,
    QOS_INVALID,
    DUP_WITH_QOS_0,
    CONNECT_FLAGS,
    TOPIC_NAME,
    TOPIC_FILTER,
    NO_FILTERS,
    TOO_MANY_ENTRIES,
    SUBSCRIPTION_OPTIONS,
    REASON_CODE,
    PROPERTY_LENGTH,
    PROPERTY_UNKNOWN,
    PROPERTY_FOREIGN,
    PROPERTY_DUPLICATE,
    PROPERTY_VALUE,
    PROPERTY_MISSING,
)


class Malformed(Exception):
    """Error raised if a peer's bytes violate the standard.

    `protocol_level` is the level in an invalid CONNECT, because the response depends on it. It is 0
    if the level is unknown, or if another packet is invalid.
    """

    def __init__(
        self, reason: str, detail: str, reason_code: int = MALFORMED_PACKET, protocol_level: int = 0
    ) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.reason_code = reason_code
        self.protocol_level = protocol_level
