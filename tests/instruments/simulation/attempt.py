"""One connection of a client of the simulation, and what was sent on it."""

from dataclasses import dataclass

from tests.instruments.simulation.ledger import Message
from tests.instruments.simulation.network import Link


@dataclass
class Attempt:
    """A connection and what was sent on it."""

    link: Link
    clean: bool
    will: Message | None
    persistent: bool
    session_before: str
    """What was known of the session before this CONNECT."""
    goodbye_bytes: int = 0
    """How many bytes had been sent when DISCONNECT was; 0: it was not."""
    goodbye_at: float | None = None
    """When DISCONNECT was sent. The broker counts from its arrival, and closes after a commit."""
    greeted: bool = False
    """CONNACK has come."""

    def ended_at(self) -> float | None:
        """Return when the broker may have begun to count, at the earliest; None: not yet."""
        ends = [end for end in (self.goodbye_at, self.link.broker_gone_at) if end is not None]
        return min(ends, default=None)

    def goodbye_was_heard(self) -> bool:
        """Return whether DISCONNECT reached the broker."""
        return 0 < self.goodbye_bytes <= self.link.delivered_bytes
