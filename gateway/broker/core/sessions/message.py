"""Application messages and wills, and the state of a message in a session."""

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.sessions.packet_identifiers import Exchange

if TYPE_CHECKING:
    from gateway.broker.core.sessions.owner import Owner
    from gateway.broker.core.sessions.session import Session
    from gateway.broker.core.sessions.source import Source


class DeliveryState(IntEnum):
    """State of a delivery. The values are stored in the table `outbound`."""

    WAITING = 0
    """The message is queued."""
    SENT = 1
    """PUBLISH was sent with a packet identifier."""
    RECEIVED = 2
    """PUBREC was received."""
    DONE = 3


STATE_NAMES: Final = {
    DeliveryState.WAITING: "waiting",
    DeliveryState.SENT: "awaiting_acknowledgement",
    DeliveryState.RECEIVED: "awaiting_pubcomp",
    DeliveryState.DONE: "done",
}
"""Names in the status, and in reports of unexpected packets."""

# The flags of a delivery, also in its row: QoS in bits 0 and 1, then the following bits.
QOS: Final = 3
RETAIN: Final = 4
SHARED: Final = 8
"""The message came through a shared subscription. If this member's session ends, another member may
receive the message."""
SINGLE_SUBSCRIPTION: Final = 16
"""The message came through a single subscription (shared, or as a retained message). The key of
this subscription follows the flags."""
KEY_SHIFT: Final = 8

# The flags of a message: QoS and RETAIN as above, and HAS_PLACE.
HAS_PLACE: Final = 8

MESSAGE_BYTES: Final = 512
"""Memory of a message in addition to its contents, in bytes: the object, four strings, its number,
and its entry among the retained messages. Measured with the compiled core: 460."""


def retained_bytes_of(topic: str, size_bytes: int) -> int:
    """Return the memory that a retained message takes, in bytes.

    `size_bytes` is the result of `Message.size_bytes`.
    """
    return MESSAGE_BYTES + text_bytes_of(topic) + size_bytes


@mypyc_attr(acyclic=True)
class Message:
    """An application message as its publisher sent it. All receivers share the same object."""

    owner: "Owner | None" = None
    """The owner of a message that is retained or will be, or None if unknown."""
    source: "Source | None" = None
    """The publisher of a retained message, or None if unknown."""

    def __init__(
        self,
        number: int,
        topic: str,
        topic_field: bytes,
        payload: bytes,
        qos: int,
        retain: bool,
        forwarded: bytes = b"",
        expires_ms: int = 0,
    ) -> None:
        self.number = number
        self.topic = topic
        self.topic_field = topic_field
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.forwarded = forwarded
        """The MQTT 5.0 properties to be forwarded, encoded."""
        self.expires_ms = expires_ms
        """Expiry time in milliseconds of gateway time, or 0 if the message does not expire."""
        self.has_place = False
        """True if a held message must be retained at its release, because it was acknowledged when
        there was room. The limits on retained messages may be lower by then."""
        self.stored = False
        """True if the message has its own row in the tables."""
        self.batch = -1
        """The batch that must be durable before receivers get the message, or -1 if none."""

    def flags(self) -> int:
        """Return the message's flags as stored in the journal and in the message's table row."""
        return self.qos | (RETAIN if self.retain else 0) | (HAS_PLACE if self.has_place else 0)

    def size_bytes(self) -> int:
        """Return the total size of topic, payload and properties, which counts towards limits."""
        return len(self.topic_field) + len(self.payload) + len(self.forwarded)

    def retained_bytes(self) -> int:
        """Return the maximum memory that the message takes when it is retained, in bytes."""
        return retained_bytes_of(self.topic, self.size_bytes())

    def username(self) -> str | None:
        """Return the name of the user who owns the message, or None if it is unknown."""
        return None if self.owner is None else self.owner.username

    def retained_by(self) -> "tuple[int, str | None, str | None]":
        """Return the columns of a retained message's row: message number, owner and publisher.

        The owner is the user against whose quota the message counts.
        """
        return self.number, self.username(), None if self.source is None else self.source.text()


class Will:
    """A will message, stored until it is published or discarded (3.1.1 section 3.1.2.5)."""

    def __init__(
        self,
        topic: str,
        topic_field: bytes,
        payload: bytes,
        qos: int,
        retain: bool,
        delay_seconds: int = 0,
        expiry_seconds: int = -1,
        forwarded: bytes = b"",
    ) -> None:
        self.topic = topic
        self.topic_field = topic_field
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.delay_seconds = delay_seconds
        self.expiry_seconds = expiry_seconds
        """Message expiry interval from publication on, in seconds, or -1 for none."""
        self.forwarded = forwarded

    def memory_bytes(self) -> int:
        """Return the maximum memory that the will takes, in bytes."""
        size_bytes = len(self.topic_field) + len(self.payload) + len(self.forwarded)
        return MESSAGE_BYTES + text_bytes_of(self.topic) + size_bytes


@mypyc_attr(acyclic=True)
class Held(Exchange):
    """A QoS 2 message that has been acknowledged with PUBREC and is waiting for its PUBREL."""

    def __init__(self, session: "Session", packet_id: int, message: Message, now: float) -> None:
        self.session = session
        self.packet_id = packet_id
        self.order = 0
        self.message = message
        self.since = now
        self.stored = False
        """True if the tables may contain a row for this message."""


@mypyc_attr(acyclic=True)
class Delivery(Exchange):
    """Delivery of a message to one session. The message is first queued and then in flight."""

    def __init__(
        self,
        session: "Session",
        message: Message | None,
        message_number: int,
        flags: int,
        position: int,
    ) -> None:
        self.session = session
        self.message = message
        """None while the message is only on disk."""
        self.message_number = message_number
        self.flags = flags
        self.qos = flags & QOS
        self.position = position
        self.packet_id = 0
        self.order = 0
        self.state = DeliveryState.WAITING
        self.pubrec = 0
        """Number of the delivery's PUBREC within the session, counted from 1."""
        self.sent_at = 0.0
        self.stored = False
        """True if the tables may contain a row for this delivery, from a checkpoint."""
