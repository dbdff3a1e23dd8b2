"""Encoder for MQTT 5.0 properties. The layout is documented in property_decoder.py.

Properties are written in the order of their identifiers.
"""

from gateway.broker.wire import properties as p
from gateway.broker.wire.properties import Properties
from gateway.broker.wire.writing import BYTE, binary_field, string_field, variable_byte_integer


def encode_properties(properties: Properties | None) -> bytes:
    """Encode properties, preceded by their total length. None is encoded as the length 0."""
    if properties is None:
        # [MQTT5-2.2.2-1]
        return b"\x00"
    parts: list[bytes] = []
    _add_message(parts, properties)
    _add_session(parts, properties)
    _add_authentication(parts, properties)
    _add_answer(parts, properties)
    _add_limits(parts, properties)
    body = b"".join(parts)
    return variable_byte_integer(len(body)) + body


def _add_byte(parts: list[bytes], identifier: int, value: int | None) -> None:
    if value is not None:
        parts.append(BYTE[identifier] + BYTE[value])


def _add_flag(parts: list[bytes], identifier: int, value: bool | None) -> None:
    if value is not None:
        parts.append(BYTE[identifier] + (b"\x01" if value else b"\x00"))


def _add_two_bytes(parts: list[bytes], identifier: int, value: int | None) -> None:
    if value is not None:
        parts.append(BYTE[identifier] + value.to_bytes(2, "big"))


def _add_four_bytes(parts: list[bytes], identifier: int, value: int | None) -> None:
    if value is not None:
        parts.append(BYTE[identifier] + value.to_bytes(4, "big"))


def _add_string(parts: list[bytes], identifier: int, value: str | None) -> None:
    if value is not None:
        parts.append(BYTE[identifier] + string_field(value))


def _add_binary(parts: list[bytes], identifier: int, value: bytes | None) -> None:
    if value is not None:
        parts.append(BYTE[identifier] + binary_field(value))


def _add_message(parts: list[bytes], properties: Properties) -> None:
    _add_byte(parts, p.PAYLOAD_FORMAT_INDICATOR, properties.payload_format_indicator)
    _add_four_bytes(parts, p.MESSAGE_EXPIRY_INTERVAL, properties.message_expiry_interval_seconds)
    _add_string(parts, p.CONTENT_TYPE, properties.content_type)
    _add_string(parts, p.RESPONSE_TOPIC, properties.response_topic)
    _add_binary(parts, p.CORRELATION_DATA, properties.correlation_data)
    for number in properties.subscription_identifiers:
        parts.append(BYTE[p.SUBSCRIPTION_IDENTIFIER] + variable_byte_integer(number))


def _add_session(parts: list[bytes], properties: Properties) -> None:
    _add_four_bytes(parts, p.SESSION_EXPIRY_INTERVAL, properties.session_expiry_interval_seconds)
    _add_string(parts, p.ASSIGNED_CLIENT_IDENTIFIER, properties.assigned_client_identifier)
    _add_two_bytes(parts, p.SERVER_KEEP_ALIVE, properties.server_keep_alive_seconds)


def _add_authentication(parts: list[bytes], properties: Properties) -> None:
    _add_string(parts, p.AUTHENTICATION_METHOD, properties.authentication_method)
    _add_binary(parts, p.AUTHENTICATION_DATA, properties.authentication_data)


def _add_answer(parts: list[bytes], properties: Properties) -> None:
    _add_flag(parts, p.REQUEST_PROBLEM_INFORMATION, properties.request_problem_information)
    _add_four_bytes(parts, p.WILL_DELAY_INTERVAL, properties.will_delay_interval_seconds)
    _add_flag(parts, p.REQUEST_RESPONSE_INFORMATION, properties.request_response_information)
    _add_string(parts, p.RESPONSE_INFORMATION, properties.response_information)
    _add_string(parts, p.SERVER_REFERENCE, properties.server_reference)
    _add_string(parts, p.REASON_STRING, properties.reason_string)


def _add_limits(parts: list[bytes], properties: Properties) -> None:
    _add_two_bytes(parts, p.RECEIVE_MAXIMUM, properties.receive_maximum)
    _add_two_bytes(parts, p.TOPIC_ALIAS_MAXIMUM, properties.topic_alias_maximum)
    _add_two_bytes(parts, p.TOPIC_ALIAS, properties.topic_alias)
    _add_byte(parts, p.MAXIMUM_QOS, properties.maximum_qos)
    _add_flag(parts, p.RETAIN_AVAILABLE, properties.retain_available)
    for name, value in properties.user_properties:
        # [MQTT5-3.3.2-18] their order is kept
        parts.append(BYTE[p.USER_PROPERTY] + string_field(name) + string_field(value))
    _add_four_bytes(parts, p.MAXIMUM_PACKET_SIZE, properties.maximum_packet_size_bytes)
    _add_flag(parts, p.WILDCARD_SUBSCRIPTION_AVAILABLE, properties.wildcard_subscription_available)
    _add_flag(
        parts, p.SUBSCRIPTION_IDENTIFIERS_AVAILABLE, properties.subscription_identifiers_available
    )
    _add_flag(parts, p.SHARED_SUBSCRIPTION_AVAILABLE, properties.shared_subscription_available)
