"""All published messages, their publishers, and how far each one got: what the clients know."""

from dataclasses import dataclass, field

MUST = "must"
MAY = "may"
NEVER = "never"


@dataclass
class Message:
    """An application message or a will, identified by its payload."""

    publisher: str
    number: int
    topic: str
    qos: int
    retain: bool
    padding: int = 0
    expiry_seconds: int | None = None
    is_will: bool = False
    will_goes_out: str = MAY
    """For a will: whether it must, may or must not be published."""
    first_sent: int | None = None
    """The moment of the first sending."""
    first_sent_at: float = 0.0
    """The time of the first sending in seconds."""
    acknowledged: int | None = None
    """The moment at which PUBACK or PUBCOMP arrived."""
    sent_count: int = 0
    temporary: bool = False
    """True if the message was sent in a session that ends with its connection.

    Not every step of such a message is recorded.
    """
    refused: bool = False
    """True if the message was sent once and refused, so that no client may receive it."""
    abandoned: bool = False
    """True if the session that sent the message has ended, so that its result stays unknown."""

    @property
    def key(self) -> bytes:
        """The beginning of the payload up to the first space, which identifies the message."""
        return f"{self.publisher}/{'w' if self.is_will else ''}{self.number}".encode()

    @property
    def payload(self) -> bytes:
        """Return the payload."""
        return self.key + b" " + b"." * self.padding


def key_of(payload: bytes) -> bytes:
    """Return the key of the message to which a payload belongs."""
    return payload.partition(b" ")[0]


@dataclass
class Outgoing:
    """A QoS 1 or 2 message in flight to the broker."""

    message: Message
    received: bool = False
    """True after PUBREC. From then on PUBREL is resent instead of the PUBLISH."""


@dataclass
class Ledger:
    """Every message of a run."""

    messages: dict[bytes, Message] = field(default_factory=dict)

    def add(self, message: Message) -> Message:
        """Add a message before it is sent."""
        self.messages[message.key] = message
        return message
