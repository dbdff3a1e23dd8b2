"""Decoder for MQTT 5.0 properties.

The properties of a packet have this layout (`...` means repetition)::

    length variable byte integer | (identifier variable byte integer | value)...

The identifier determines the type of the value: a byte, two or four bytes, a variable byte integer,
a string, binary data, or a pair of strings. The functions raise Malformed if a property is invalid.
"""

from typing import Final

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire import properties as p
from gateway.broker.wire.codes import PROTOCOL_ERROR, QUOTA_EXCEEDED, TOPIC_ALIAS_INVALID
from gateway.broker.wire.limits import (
    SUBSCRIPTION_IDENTIFIERS_PER_PACKET_MAX,
    USER_PROPERTIES_PER_PACKET_MAX,
)
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.properties import Properties
from gateway.broker.wire.property_tables import PROPERTY_NAMES, REPEATABLE, bits_of
from gateway.broker.wire.reading import Reader
from gateway.broker.wire.topics import validate_topic_name

_BYTES: Final = bits_of(
    [
        p.PAYLOAD_FORMAT_INDICATOR,
        p.REQUEST_PROBLEM_INFORMATION,
        p.REQUEST_RESPONSE_INFORMATION,
        p.MAXIMUM_QOS,
        p.RETAIN_AVAILABLE,
        p.WILDCARD_SUBSCRIPTION_AVAILABLE,
        p.SUBSCRIPTION_IDENTIFIERS_AVAILABLE,
        p.SHARED_SUBSCRIPTION_AVAILABLE,
    ]
)
_NUMBERS_OF_TWO_BYTES: Final = bits_of(
    [p.SERVER_KEEP_ALIVE, p.RECEIVE_MAXIMUM, p.TOPIC_ALIAS_MAXIMUM, p.TOPIC_ALIAS]
)
_NUMBERS_OF_FOUR_BYTES: Final = bits_of(
    [
        p.MESSAGE_EXPIRY_INTERVAL,
        p.SESSION_EXPIRY_INTERVAL,
        p.WILL_DELAY_INTERVAL,
        p.MAXIMUM_PACKET_SIZE,
    ]
)
_BINARY: Final = bits_of([p.CORRELATION_DATA, p.AUTHENTICATION_DATA])


def read_properties(reader: Reader, allowed: int) -> Properties | None:
    """Decode the properties at the reader's position. Return None if there are no properties.

    `allowed` is a bit set of the allowed property identifiers. Raises Malformed if a property is
    invalid or not allowed.
    """
    length = reader.variable_byte_integer("property length")
    if length == 0:
        return None
    end = reader.position + length
    if end > reader.stop:
        raise Malformed(
            wrong.PROPERTY_LENGTH,
            f"{reader.packet_name} has a property length of {length} bytes: "
            f"expected at most {reader.stop - reader.position}",
        )
    properties = Properties()
    # The reader must not read beyond the end of the properties.
    packet_stop = reader.stop
    reader.stop = end
    seen = 0
    while reader.position < end:
        identifier = reader.variable_byte_integer("property identifier")
        bit = _checked_bit(reader, identifier, allowed, seen)
        seen |= bit
        _read_value(reader, properties, identifier, bit)
    reader.stop = packet_stop
    return properties


def _checked_bit(reader: Reader, identifier: int, allowed: int, seen: int) -> int:
    name = PROPERTY_NAMES.get(identifier)
    if name is None:
        raise Malformed(
            wrong.PROPERTY_UNKNOWN,
            f"{reader.packet_name} has a property {identifier}: expected one of MQTT 5.0",
        )
    bit = 1 << identifier
    if not allowed & bit:
        raise Malformed(
            wrong.PROPERTY_FOREIGN,
            f"{reader.packet_name} has the property {name}, which this peer may not put there",
            PROTOCOL_ERROR,
        )
    if seen & bit & ~REPEATABLE:
        raise Malformed(
            wrong.PROPERTY_DUPLICATE,
            f"{reader.packet_name} has the property {name} twice: expected it once",
            PROTOCOL_ERROR,
        )
    return bit


def _read_value(reader: Reader, properties: Properties, identifier: int, bit: int) -> None:
    name = PROPERTY_NAMES[identifier]
    if identifier == p.USER_PROPERTY:
        _read_user_property(reader, properties)
    elif identifier == p.SUBSCRIPTION_IDENTIFIER:
        _read_subscription_identifier(reader, properties)
    elif bit & _BYTES:
        _set_byte(properties, identifier, _zero_or_one(reader, name))
    elif bit & _NUMBERS_OF_TWO_BYTES:
        _set_two_bytes(properties, identifier, reader.two_bytes(name))
    elif bit & _NUMBERS_OF_FOUR_BYTES:
        _set_four_bytes(properties, identifier, reader.four_bytes(name))
    elif bit & _BINARY:
        if identifier == p.CORRELATION_DATA:
            properties.correlation_data = reader.binary(name)
        else:
            properties.authentication_data = reader.binary(name)
    else:
        _set_string(properties, identifier, reader.string(name))


def _read_user_property(reader: Reader, properties: Properties) -> None:
    if len(properties.user_properties) >= USER_PROPERTIES_PER_PACKET_MAX:
        raise Malformed(
            wrong.TOO_MANY_ENTRIES,
            f"{reader.packet_name} has more than {USER_PROPERTIES_PER_PACKET_MAX} user properties: "
            "send fewer in one packet",
            QUOTA_EXCEEDED,
        )
    name = reader.string("user property name")
    properties.user_properties.append((name, reader.string("user property value")))


def _read_subscription_identifier(reader: Reader, properties: Properties) -> None:
    if len(properties.subscription_identifiers) >= SUBSCRIPTION_IDENTIFIERS_PER_PACKET_MAX:
        raise Malformed(
            wrong.TOO_MANY_ENTRIES,
            f"{reader.packet_name} has more than {SUBSCRIPTION_IDENTIFIERS_PER_PACKET_MAX} "
            "subscription identifiers: let fewer subscriptions overlap",
            QUOTA_EXCEEDED,
        )
    value = reader.variable_byte_integer("subscription identifier")
    if value == 0:
        raise _wrong_value("subscription identifier", 0, "1 to 268435455")
    properties.subscription_identifiers.append(value)


def _wrong_value(name: str, value: int, expected: str, code: int = PROTOCOL_ERROR) -> Malformed:
    return Malformed(
        wrong.PROPERTY_VALUE, f"the property {name} is {value}: expected {expected}", code
    )


def _zero_or_one(reader: Reader, name: str) -> int:
    value = reader.byte(name)
    if value > 1:
        raise _wrong_value(name, value, "0 or 1")
    return value


def _set_byte(properties: Properties, identifier: int, value: int) -> None:
    if identifier == p.PAYLOAD_FORMAT_INDICATOR:
        properties.payload_format_indicator = value
    elif identifier == p.REQUEST_PROBLEM_INFORMATION:
        properties.request_problem_information = value == 1
    elif identifier == p.REQUEST_RESPONSE_INFORMATION:
        properties.request_response_information = value == 1
    elif identifier == p.MAXIMUM_QOS:
        properties.maximum_qos = value
    elif identifier == p.RETAIN_AVAILABLE:
        properties.retain_available = value == 1
    elif identifier == p.WILDCARD_SUBSCRIPTION_AVAILABLE:
        properties.wildcard_subscription_available = value == 1
    elif identifier == p.SUBSCRIPTION_IDENTIFIERS_AVAILABLE:
        properties.subscription_identifiers_available = value == 1
    else:
        assert identifier == p.SHARED_SUBSCRIPTION_AVAILABLE
        properties.shared_subscription_available = value == 1


def _set_two_bytes(properties: Properties, identifier: int, value: int) -> None:
    if identifier == p.TOPIC_ALIAS:
        # [MQTT5-3.3.2-8]
        if value == 0:
            raise _wrong_value("topic alias", 0, "1 to 65535", TOPIC_ALIAS_INVALID)
        properties.topic_alias = value
    elif identifier == p.RECEIVE_MAXIMUM:
        if value == 0:
            raise _wrong_value("receive maximum", 0, "1 to 65535")
        properties.receive_maximum = value
    elif identifier == p.TOPIC_ALIAS_MAXIMUM:
        properties.topic_alias_maximum = value
    else:
        assert identifier == p.SERVER_KEEP_ALIVE
        properties.server_keep_alive_seconds = value


def _set_four_bytes(properties: Properties, identifier: int, value: int) -> None:
    if identifier == p.MESSAGE_EXPIRY_INTERVAL:
        properties.message_expiry_interval_seconds = value
    elif identifier == p.SESSION_EXPIRY_INTERVAL:
        properties.session_expiry_interval_seconds = value
    elif identifier == p.WILL_DELAY_INTERVAL:
        properties.will_delay_interval_seconds = value
    else:
        assert identifier == p.MAXIMUM_PACKET_SIZE
        if value == 0:
            raise _wrong_value("maximum packet size", 0, "1 byte or more")
        properties.maximum_packet_size_bytes = value


def _set_string(properties: Properties, identifier: int, value: str) -> None:
    if identifier == p.CONTENT_TYPE:
        properties.content_type = value
    elif identifier == p.RESPONSE_TOPIC:
        # [MQTT5-3.3.2-14] it is a topic that a client will publish to
        error = validate_topic_name(value)
        if error is not None:
            raise Malformed(wrong.TOPIC_NAME, f"response topic: {error}", PROTOCOL_ERROR)
        properties.response_topic = value
    elif identifier == p.ASSIGNED_CLIENT_IDENTIFIER:
        properties.assigned_client_identifier = value
    elif identifier == p.AUTHENTICATION_METHOD:
        properties.authentication_method = value
    elif identifier == p.RESPONSE_INFORMATION:
        properties.response_information = value
    elif identifier == p.SERVER_REFERENCE:
        properties.server_reference = value
    else:
        assert identifier == p.REASON_STRING
        properties.reason_string = value
