"""What a peer did wrong: a value with how to count it, how to answer it and how to log it.

The reason codes are those of MQTT 5.0; older clients see the connection closed.
"""

from typing import Final

NORMAL: Final = 0x00
NO_MATCHING_SUBSCRIBERS: Final = 0x10
NO_SUBSCRIPTION_EXISTED: Final = 0x11
CONTINUE_AUTHENTICATION: Final = 0x18
REAUTHENTICATE: Final = 0x19
UNSPECIFIED_ERROR: Final = 0x80
MALFORMED_PACKET: Final = 0x81
PROTOCOL_ERROR: Final = 0x82
UNSUPPORTED_PROTOCOL_VERSION: Final = 0x84
CLIENT_IDENTIFIER_NOT_VALID: Final = 0x85
BAD_USER_NAME_OR_PASSWORD: Final = 0x86
NOT_AUTHORIZED: Final = 0x87
SERVER_UNAVAILABLE: Final = 0x88
SERVER_BUSY: Final = 0x89
BANNED: Final = 0x8A
SERVER_SHUTTING_DOWN: Final = 0x8B
BAD_AUTHENTICATION_METHOD: Final = 0x8C
KEEP_ALIVE_TIMEOUT: Final = 0x8D
SESSION_TAKEN_OVER: Final = 0x8E
TOPIC_FILTER_INVALID: Final = 0x8F
TOPIC_NAME_INVALID: Final = 0x90
PACKET_ID_NOT_FOUND: Final = 0x92
RECEIVE_MAXIMUM_EXCEEDED: Final = 0x93
TOPIC_ALIAS_INVALID: Final = 0x94
PACKET_TOO_LARGE: Final = 0x95
QUOTA_EXCEEDED: Final = 0x97
ADMINISTRATIVE_ACTION: Final = 0x98
PAYLOAD_FORMAT_INVALID: Final = 0x99
RETAIN_NOT_SUPPORTED: Final = 0x9A
QOS_NOT_SUPPORTED: Final = 0x9B
CONNECTION_RATE_EXCEEDED: Final = 0x9F


class Violation:
    """Ends a connection."""

    def __init__(self, reason: str, reason_code: int, detail: str) -> None:
        self.reason = reason
        """For counters and the session log, in snake case."""
        self.reason_code = reason_code
        self.detail = detail
        """What happened, in which state, and what was expected."""


def too_large(name: str, size_bytes: int, largest_bytes: int) -> Violation:
    """Return what an answer amounts to that may neither be sent nor left out [MQTT5-3.1.2-24]."""
    detail = (
        f"{name} of {size_bytes} bytes, the client's maximum packet size is {largest_bytes}: "
        "expected a client with room for its answers"
    )
    return Violation("answer_too_large", PACKET_TOO_LARGE, detail)


def protocol_violation(detail: str) -> Violation:
    """Return what a packet that must not come in this state amounts to."""
    return Violation("protocol_violation", PROTOCOL_ERROR, detail)
