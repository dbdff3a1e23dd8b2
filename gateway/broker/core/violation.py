"""Violations of the protocol or of a limit, for which a connection is closed.

A violation has a name for counters, a text for the log, and an MQTT 5.0 reason code for the client.
Clients that use older versions get no reason code.
"""

from gateway.broker.wire.codes import PACKET_TOO_LARGE, PROTOCOL_ERROR


class Violation:
    """The reason for closing a connection: a violation of the protocol or of a limit."""

    def __init__(self, reason: str, reason_code: int, detail: str) -> None:
        self.reason = reason
        """Name of the violation in counters and in the session log, in snake case."""
        self.reason_code = reason_code
        self.detail = detail
        """A sentence that states the event, the state, and what was expected."""


def too_large(name: str, size_bytes: int, largest_bytes: int) -> Violation:
    """Return the violation for a response that is too large for the client [MQTT5-3.1.2-24]."""
    detail = (
        f"{name} of {size_bytes} bytes, the client's maximum packet size is {largest_bytes}: "
        "expected a client with room for its answers"
    )
    return Violation("answer_too_large", PACKET_TOO_LARGE, detail)


def protocol_violation(detail: str) -> Violation:
    """Return the violation for a packet that is not allowed in the current state."""
    return Violation("protocol_violation", PROTOCOL_ERROR, detail)
