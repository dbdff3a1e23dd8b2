"""What was published, by whom, and how far it got: the part of the truth that clients know."""

from dataclasses import dataclass, field

MUST = "must"
MAY = "may"
NEVER = "never"


@dataclass
class Message:
    """An application message, or a will, known by its payload."""

    publisher: str
    number: int
    topic: str
    qos: int
    retain: bool
    padding: int = 0
    expiry_seconds: int | None = None
    is_will: bool = False
    will_goes_out: str = MAY
    """Of a will: whether it has to be published."""
    first_sent: int | None = None
    """The moment it was sent first."""
    first_sent_at: float = 0.0
    """The same in seconds."""
    acknowledged: int | None = None
    """The moment its PUBACK or PUBCOMP came."""
    sent_count: int = 0
    temporary: bool = False
    """It was sent in a session that ends with its connection: not every step is written down."""
    refused: bool = False
    """It was sent once, and refused: no client may receive it."""
    abandoned: bool = False
    """The session in which it was under way is gone: nothing will show what became of it."""

    @property
    def key(self) -> bytes:
        """What its payload begins with, up to the first space."""
        return f"{self.publisher}/{'w' if self.is_will else ''}{self.number}".encode()

    @property
    def payload(self) -> bytes:
        """Return the payload."""
        return self.key + b" " + b"." * self.padding


def key_of(payload: bytes) -> bytes:
    """Return which message a payload belongs to."""
    return payload.partition(b" ")[0]


@dataclass
class Outgoing:
    """A QoS 1 or 2 message under way to the broker."""

    message: Message
    received: bool = False
    """PUBREC has come: PUBREL is what is resent."""


@dataclass
class Ledger:
    """Every message of a run."""

    messages: dict[bytes, Message] = field(default_factory=dict)

    def add(self, message: Message) -> Message:
        """Write down a message before it is sent."""
        self.messages[message.key] = message
        return message
