"""Bit sets of the properties that are allowed in each packet type and direction.

Bit N stands for the property with the identifier N. Source: [MQTT5-2.2.2.2] table 2-4, and the
sections about each packet.
"""

from typing import Final

from gateway.broker.wire import properties as p
from gateway.broker.wire.kinds import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
)

PROPERTY_NAMES: Final = {
    p.PAYLOAD_FORMAT_INDICATOR: "payload format indicator",
    p.MESSAGE_EXPIRY_INTERVAL: "message expiry interval",
    p.CONTENT_TYPE: "content type",
    p.RESPONSE_TOPIC: "response topic",
    p.CORRELATION_DATA: "correlation data",
    p.SUBSCRIPTION_IDENTIFIER: "subscription identifier",
    p.SESSION_EXPIRY_INTERVAL: "session expiry interval",
    p.ASSIGNED_CLIENT_IDENTIFIER: "assigned client identifier",
    p.SERVER_KEEP_ALIVE: "server keep alive",
    p.AUTHENTICATION_METHOD: "authentication method",
    p.AUTHENTICATION_DATA: "authentication data",
    p.REQUEST_PROBLEM_INFORMATION: "request problem information",
    p.WILL_DELAY_INTERVAL: "will delay interval",
    p.REQUEST_RESPONSE_INFORMATION: "request response information",
    p.RESPONSE_INFORMATION: "response information",
    p.SERVER_REFERENCE: "server reference",
    p.REASON_STRING: "reason string",
    p.RECEIVE_MAXIMUM: "receive maximum",
    p.TOPIC_ALIAS_MAXIMUM: "topic alias maximum",
    p.TOPIC_ALIAS: "topic alias",
    p.MAXIMUM_QOS: "maximum QoS",
    p.RETAIN_AVAILABLE: "retain available",
    p.USER_PROPERTY: "user property",
    p.MAXIMUM_PACKET_SIZE: "maximum packet size",
    p.WILDCARD_SUBSCRIPTION_AVAILABLE: "wildcard subscription available",
    p.SUBSCRIPTION_IDENTIFIERS_AVAILABLE: "subscription identifier available",
    p.SHARED_SUBSCRIPTION_AVAILABLE: "shared subscription available",
}


def bits_of(identifiers: list[int]) -> int:
    bits = 0
    for identifier in identifiers:
        bits |= 1 << identifier
    return bits


_MESSAGE: Final = [
    p.PAYLOAD_FORMAT_INDICATOR,
    p.MESSAGE_EXPIRY_INTERVAL,
    p.CONTENT_TYPE,
    p.RESPONSE_TOPIC,
    p.CORRELATION_DATA,
    p.USER_PROPERTY,
]
_ANSWER: Final = bits_of([p.REASON_STRING, p.USER_PROPERTY])

WILL_PROPERTIES: Final = bits_of([*_MESSAGE, p.WILL_DELAY_INTERVAL])
REPEATABLE: Final = bits_of([p.USER_PROPERTY, p.SUBSCRIPTION_IDENTIFIER])

_FROM_EITHER: Final = {
    PUBLISH: bits_of([*_MESSAGE, p.TOPIC_ALIAS]),
    PUBACK: _ANSWER,
    PUBREC: _ANSWER,
    PUBREL: _ANSWER,
    PUBCOMP: _ANSWER,
    DISCONNECT: _ANSWER,
    AUTH: bits_of(
        [p.AUTHENTICATION_METHOD, p.AUTHENTICATION_DATA, p.REASON_STRING, p.USER_PROPERTY]
    ),
}

_FROM_CLIENT: Final = {
    CONNECT: bits_of(
        [
            p.SESSION_EXPIRY_INTERVAL,
            p.RECEIVE_MAXIMUM,
            p.MAXIMUM_PACKET_SIZE,
            p.TOPIC_ALIAS_MAXIMUM,
            p.REQUEST_RESPONSE_INFORMATION,
            p.REQUEST_PROBLEM_INFORMATION,
            p.USER_PROPERTY,
            p.AUTHENTICATION_METHOD,
            p.AUTHENTICATION_DATA,
        ]
    ),
    SUBSCRIBE: bits_of([p.SUBSCRIPTION_IDENTIFIER, p.USER_PROPERTY]),
    UNSUBSCRIBE: bits_of([p.USER_PROPERTY]),
    # [MQTT5-3.14.2-2] the server does not send it
    DISCONNECT: bits_of([p.SESSION_EXPIRY_INTERVAL]),
}

_FROM_SERVER: Final = {
    CONNACK: bits_of(
        [
            p.SESSION_EXPIRY_INTERVAL,
            p.RECEIVE_MAXIMUM,
            p.MAXIMUM_QOS,
            p.RETAIN_AVAILABLE,
            p.MAXIMUM_PACKET_SIZE,
            p.ASSIGNED_CLIENT_IDENTIFIER,
            p.TOPIC_ALIAS_MAXIMUM,
            p.REASON_STRING,
            p.USER_PROPERTY,
            p.WILDCARD_SUBSCRIPTION_AVAILABLE,
            p.SUBSCRIPTION_IDENTIFIERS_AVAILABLE,
            p.SHARED_SUBSCRIPTION_AVAILABLE,
            p.SERVER_KEEP_ALIVE,
            p.RESPONSE_INFORMATION,
            p.SERVER_REFERENCE,
            p.AUTHENTICATION_METHOD,
            p.AUTHENTICATION_DATA,
        ]
    ),
    # [MQTT5-3.3.4-6] a client does not send it
    PUBLISH: bits_of([p.SUBSCRIPTION_IDENTIFIER]),
    SUBACK: _ANSWER,
    UNSUBACK: _ANSWER,
    DISCONNECT: bits_of([p.SERVER_REFERENCE]),
}


def allowed_properties(kind: int, from_client: bool) -> int:
    """Return a bit set of the properties that are allowed in packets of type `kind`.

    `from_client` is True for packets sent by a client, and False for packets sent by a server.
    """
    direction = _FROM_CLIENT if from_client else _FROM_SERVER
    return _FROM_EITHER.get(kind, 0) | direction.get(kind, 0)


# Bit sets by packet type, looked up once per packet with properties.
FROM_CLIENT: Final = [allowed_properties(kind, True) for kind in range(16)]
FROM_SERVER: Final = [allowed_properties(kind, False) for kind in range(16)]
