"""A connection attempt of a simulated client, and what was sent on it."""

from dataclasses import dataclass

from tests.instruments.simulation.ledger import Message
from tests.instruments.simulation.network import Link


@dataclass
class Attempt:
    """A connection attempt, and what was sent on it."""

    link: Link
    clean: bool
    will: Message | None
    persistent: bool
    session_before: str
    """The client's knowledge about the session before this CONNECT."""
    goodbye_bytes: int = 0
    """Bytes sent up to and including DISCONNECT, or 0 if DISCONNECT was not sent."""
    goodbye_at: float | None = None
    """The time of DISCONNECT. For the broker the session's expiry begins at its arrival."""
    connack_released: bool = False
    """True after CONNACK."""

    def ended_at(self) -> float | None:
        """Return the earliest time at which the session's expiry may have begun, or None."""
        ends = [end for end in (self.goodbye_at, self.link.broker_gone_at) if end is not None]
        return min(ends, default=None)

    def goodbye_was_heard(self) -> bool:
        """Return True if DISCONNECT reached the broker."""
        return 0 < self.goodbye_bytes <= self.link.delivered_bytes
