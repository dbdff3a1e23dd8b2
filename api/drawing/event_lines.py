"""Describes the events of the session log in human-readable lines."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from api.models.events import Event
from api.wording import bytes_of, count_of, counted_of, protocol_of, quantity_name_of

_TITLES: Final = {
    "broker_started": "Broker started",
    "broker_stopped": "Broker stopped",
    "session_opened": "Connected, new session",
    "session_resumed": "Connected, session resumed",
    "session_closed": "Disconnected",
    "session_ended": "Session ended",
    "session_owned": "Session assigned to a user",
    "session_expiry_changed": "Session expiry changed",
    "subscribed": "Subscribed",
    "unsubscribed": "Unsubscribed",
    "message_held": "Message received, held until PUBREL",
    "duplicate_suppressed": "Message received again, suppressed",
    "message_released": "Message released",
    "message_abandoned": "Message abandoned before PUBREL",
    "message_published": "Message received",
    "message_queued": "Message queued",
    "delivery_started": "Message sent",
    "delivery_resent": "Message sent again",
    "delivery_received": "Message received by the client",
    "delivery_completed": "Delivery completed",
    "message_dropped": "Message dropped",
    "retained_set": "Retained message set",
    "retained_cleared": "Retained message cleared",
    "will_set": "Will set",
    "will_cleared": "Will cleared",
    "limit_hit": "Limit reached",
    "protocol_error": "Protocol error",
    "clock_stepped": "Clock stepped",
    "clock_read": "Clock read",
    "store_damaged": "Store damaged",
    "log_truncated": "Session log truncated",
    "serial_port_found": "Serial port found",
    "serial_port_lost": "Serial port lost",
    "operated": "Operator action",
}

_CONNECTIONS: Final = ("session_opened", "session_resumed", "session_closed", "session_ended")
_SESSIONS: Final = (
    *_CONNECTIONS,
    *("session_owned", "session_expiry_changed", "will_set", "will_cleared"),
    *("subscribed", "unsubscribed"),
)
_RECEIVED: Final = (
    *("message_held", "duplicate_suppressed", "message_released", "message_abandoned"),
    "message_published",
)
_MESSAGES: Final = (*_RECEIVED, "retained_set", "retained_cleared")
_DELIVERIES: Final = (
    *("message_queued", "delivery_started", "delivery_resent", "delivery_received"),
    *("delivery_completed", "message_dropped"),
)
LOSSES: Final = (
    *("message_dropped", "message_abandoned", "limit_hit", "protocol_error"),
    *("store_damaged", "log_truncated", "serial_port_lost"),
)
_GATEWAY: Final = (
    *("broker_started", "broker_stopped", "clock_stepped", "clock_read", "store_damaged"),
    *("log_truncated", "serial_port_found", "serial_port_lost"),
)
HANDSHAKES: Final = (*_RECEIVED, *_DELIVERIES, *_CONNECTIONS)
RESTARTS: Final = ("broker_started", "broker_stopped")
BANDS: Final = (*_CONNECTIONS, *RESTARTS)
"""Events after which the earlier handshakes no longer continue, such as a new connection."""


class Kind(StrEnum):
    """Choices for the filter on the log page. Each choice selects events of certain types."""

    ALL = "all"
    SESSIONS = "sessions"
    MESSAGES = "messages"
    DELIVERIES = "deliveries"
    LOSSES = "losses"
    GATEWAY = "gateway"
    OPERATORS = "operators"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the events to show. An empty tuple means all events."""
        return _NAMES[self]

    @property
    def words(self) -> str:
        """The title of this choice, as the log page shows it."""
        return _KIND_TITLES[self]


_NAMES: Final = {
    Kind.ALL: (),
    Kind.SESSIONS: _SESSIONS,
    Kind.MESSAGES: _MESSAGES,
    Kind.DELIVERIES: _DELIVERIES,
    Kind.LOSSES: LOSSES,
    Kind.GATEWAY: _GATEWAY,
    Kind.OPERATORS: ("operated",),
}
_KIND_TITLES: Final = {
    Kind.ALL: "All events",
    Kind.SESSIONS: "Connections and subscriptions",
    Kind.MESSAGES: "Messages received",
    Kind.DELIVERIES: "Deliveries",
    Kind.LOSSES: "Losses and errors",
    Kind.GATEWAY: "Gateway and serial ports",
    Kind.OPERATORS: "Operators",
}


@dataclass(frozen=True)
class EventLine:
    """An event as human-readable text.

    `name` is untrusted text: a topic, a topic filter or the name of a port.
    """

    sequence: int
    time_ms: int
    title: str
    client_id: str
    name: str
    facts: str
    is_loss: bool


def title_of(name: str) -> str:
    """Return the human-readable title of an event.

    `name` is the event's name in the log. If the name is unknown, the title is the name with spaces
    instead of underscores.
    """
    return _TITLES.get(name, quantity_name_of(name))


def line_of(event: Event) -> EventLine:
    """Return a human-readable line about an event."""
    return EventLine(
        sequence=event.sequence,
        time_ms=event.time,
        title=title_of(event.event),
        client_id=event.client_id,
        name=event.text("topic") or event.text("filter") or event.text("port"),
        facts=", ".join(_facts_of(event)),
        is_loss=event.event in LOSSES,
    )


def _facts_of(event: Event) -> list[str]:
    """Return the details of an event as short texts, the most important first."""
    facts = [quantity_name_of(event.text(name)) for name in ("recovery", "action", "reason")]
    facts.append(quantity_name_of(event.text("limit")))
    facts.append(event.text("detail"))
    facts.append(_numbered("packet", event.number("packet_id") or None))
    qos = event.number("qos")
    facts.append("" if qos is None else f"QoS {qos}")
    size = event.number("payload_bytes")
    facts.append("" if size is None else bytes_of(size))
    matched = event.number("matched")
    facts.append("" if matched is None else f"to {counted_of(matched, 'session')}")
    protocol = event.number("protocol")
    facts.append("" if protocol is None else f"MQTT {protocol_of(protocol)}")
    facts.append(event.text("address"))
    facts.append(event.text("username"))
    step = event.number("step_ms")
    facts.append("" if step is None else f"by {count_of(step)} ms")
    facts.append(_numbered("version", event.text("version")))
    first, last = event.number("from_sequence"), event.number("to_sequence")
    facts.append("" if first is None else f"events {count_of(first)} to {count_of(last)}")
    return [fact for fact in facts if fact]


def _numbered(word: str, value: object) -> str:
    return f"{word} {value}" if value else ""
