"""The reason codes (MQTT 5.0) and return codes (MQTT 3) allowed in each packet, by sender."""

from typing import Final

from gateway.broker.wire import codes
from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.kinds import (
    AUTH,
    CONNACK,
    DISCONNECT,
    KIND_NAMES,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    SUBACK,
    UNSUBACK,
)
from gateway.broker.wire.malformed import Malformed

# [MQTT-3.2.2-6] table 3.1
CONNACK_MQTT_3: Final = frozenset((0, 1, 2, 3, 4, 5))
# [MQTT-3.9.3-2]. MQTT 3.1 has no 0x80, but brokers have always sent it to its clients.
SUBACK_MQTT_3: Final = frozenset((0, 1, 2, codes.UNSPECIFIED_ERROR))

# [MQTT5-3.4.2-1] [MQTT5-3.5.2-1]
_PUBLISH_ANSWER: Final = frozenset(
    (
        codes.NORMAL,
        codes.NO_MATCHING_SUBSCRIBERS,
        codes.UNSPECIFIED_ERROR,
        codes.IMPLEMENTATION_SPECIFIC_ERROR,
        codes.NOT_AUTHORIZED,
        codes.TOPIC_NAME_INVALID,
        codes.PACKET_ID_IN_USE,
        codes.QUOTA_EXCEEDED,
        codes.PAYLOAD_FORMAT_INVALID,
    )
)
# [MQTT5-3.6.2-1] [MQTT5-3.7.2-1]
_RELEASE: Final = frozenset(
    (
        codes.NORMAL,
        codes.PACKET_ID_NOT_FOUND,
    )
)

# [MQTT5-3.14.2-1] table 3-10. A DISCONNECT without a reason code means 0, so either side may send
# 0.
_DISCONNECT_FROM_EITHER: Final = frozenset(
    (
        codes.NORMAL,
        codes.UNSPECIFIED_ERROR,
        codes.MALFORMED_PACKET,
        codes.PROTOCOL_ERROR,
        codes.IMPLEMENTATION_SPECIFIC_ERROR,
        codes.TOPIC_NAME_INVALID,
        codes.RECEIVE_MAXIMUM_EXCEEDED,
        codes.TOPIC_ALIAS_INVALID,
        codes.PACKET_TOO_LARGE,
        codes.MESSAGE_RATE_TOO_HIGH,
        codes.QUOTA_EXCEEDED,
        codes.ADMINISTRATIVE_ACTION,
        codes.PAYLOAD_FORMAT_INVALID,
    )
)
_DISCONNECT_FROM_CLIENT: Final = _DISCONNECT_FROM_EITHER | frozenset((codes.DISCONNECT_WITH_WILL,))
_DISCONNECT_FROM_SERVER: Final = _DISCONNECT_FROM_EITHER | frozenset(
    (
        codes.NOT_AUTHORIZED,
        codes.SERVER_BUSY,
        codes.SERVER_SHUTTING_DOWN,
        codes.KEEP_ALIVE_TIMEOUT,
        codes.SESSION_TAKEN_OVER,
        codes.TOPIC_FILTER_INVALID,
        codes.RETAIN_NOT_SUPPORTED,
        codes.QOS_NOT_SUPPORTED,
        codes.USE_ANOTHER_SERVER,
        codes.SERVER_MOVED,
        codes.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED,
        codes.CONNECTION_RATE_EXCEEDED,
        codes.MAXIMUM_CONNECT_TIME,
        codes.SUBSCRIPTION_IDS_NOT_SUPPORTED,
        codes.WILDCARDS_NOT_SUPPORTED,
    )
)

# [MQTT5-3.15.2-1] table 3-11
_AUTH_FROM_CLIENT: Final = frozenset(
    (
        codes.CONTINUE_AUTHENTICATION,
        codes.REAUTHENTICATE,
    )
)
_AUTH_FROM_SERVER: Final = frozenset(
    (
        codes.NORMAL,
        codes.CONTINUE_AUTHENTICATION,
    )
)

_MQTT_5: Final = {
    # [MQTT5-3.2.2-8] table 3-1
    CONNACK: frozenset(
        (
            codes.NORMAL,
            codes.UNSPECIFIED_ERROR,
            codes.MALFORMED_PACKET,
            codes.PROTOCOL_ERROR,
            codes.IMPLEMENTATION_SPECIFIC_ERROR,
            codes.UNSUPPORTED_PROTOCOL_VERSION,
            codes.CLIENT_IDENTIFIER_NOT_VALID,
            codes.BAD_USER_NAME_OR_PASSWORD,
            codes.NOT_AUTHORIZED,
            codes.SERVER_UNAVAILABLE,
            codes.SERVER_BUSY,
            codes.BANNED,
            codes.BAD_AUTHENTICATION_METHOD,
            codes.TOPIC_NAME_INVALID,
            codes.PACKET_TOO_LARGE,
            codes.QUOTA_EXCEEDED,
            codes.PAYLOAD_FORMAT_INVALID,
            codes.RETAIN_NOT_SUPPORTED,
            codes.QOS_NOT_SUPPORTED,
            codes.USE_ANOTHER_SERVER,
            codes.SERVER_MOVED,
            codes.CONNECTION_RATE_EXCEEDED,
        )
    ),
    PUBACK: _PUBLISH_ANSWER,
    PUBREC: _PUBLISH_ANSWER,
    PUBREL: _RELEASE,
    PUBCOMP: _RELEASE,
    # [MQTT5-3.9.3-2] table 3-8
    SUBACK: frozenset(
        (
            0,
            1,
            2,
            codes.UNSPECIFIED_ERROR,
            codes.IMPLEMENTATION_SPECIFIC_ERROR,
            codes.NOT_AUTHORIZED,
            codes.TOPIC_FILTER_INVALID,
            codes.PACKET_ID_IN_USE,
            codes.QUOTA_EXCEEDED,
            codes.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED,
            codes.SUBSCRIPTION_IDS_NOT_SUPPORTED,
            codes.WILDCARDS_NOT_SUPPORTED,
        )
    ),
    # [MQTT5-3.11.3-2] table 3-9
    UNSUBACK: frozenset(
        (
            codes.NORMAL,
            codes.NO_SUBSCRIPTION_EXISTED,
            codes.UNSPECIFIED_ERROR,
            codes.IMPLEMENTATION_SPECIFIC_ERROR,
            codes.NOT_AUTHORIZED,
            codes.TOPIC_FILTER_INVALID,
            codes.PACKET_ID_IN_USE,
        )
    ),
}


def allowed_reason_codes(kind: int, from_client: bool) -> frozenset[int]:
    """Return the MQTT 5.0 reason codes that are allowed in packets of type `kind`.

    `from_client` is True for packets sent by a client, and False for packets sent by a server.
    """
    if kind == DISCONNECT:
        return _DISCONNECT_FROM_CLIENT if from_client else _DISCONNECT_FROM_SERVER
    if kind == AUTH:
        return _AUTH_FROM_CLIENT if from_client else _AUTH_FROM_SERVER
    return _MQTT_5[kind]


def check_reason_code(kind: int, reason_code: int, allowed: frozenset[int]) -> None:
    if reason_code not in allowed:
        expected = ", ".join([f"0x{code:02X}" for code in sorted(allowed)])
        raise Malformed(
            wrong.REASON_CODE,
            f"{KIND_NAMES[kind]} has the code 0x{reason_code:02X}: expected one of {expected}",
        )
