"""Protocol violations: how each is counted, answered and logged.

The reason codes are those of MQTT 5.0. For older clients the connection is closed.
"""

from gateway.broker.wire.codes import PACKET_TOO_LARGE, PROTOCOL_ERROR


class Violation:
    """A violation that ends the connection."""

    def __init__(self, reason: str, reason_code: int, detail: str) -> None:
        self.reason = reason
        """Reason for counters and the session log, in snake case."""
        self.reason_code = reason_code
        self.detail = detail
        """A sentence: the event, the state, and what was expected."""


def too_large(name: str, size_bytes: int, largest_bytes: int) -> Violation:
    """Return the violation for an answer that must be sent but is too large [MQTT5-3.1.2-24]."""
    detail = (
        f"{name} of {size_bytes} bytes, the client's maximum packet size is {largest_bytes}: "
        "expected a client with room for its answers"
    )
    return Violation("answer_too_large", PACKET_TOO_LARGE, detail)


def protocol_violation(detail: str) -> Violation:
    """Return the violation for a packet that is not allowed in the current state."""
    return Violation("protocol_violation", PROTOCOL_ERROR, detail)
