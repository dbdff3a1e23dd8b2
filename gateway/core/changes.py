"""The net change of the state since the last checkpoint.

What was held, released, delivered and completed between two checkpoints cancels out here and
never becomes a row. It holds the live objects: a checkpoint step that writes one of them later
writes its newest state, which replaying the journal over it leads to as well (facts are keyed and
blind).
"""

from gateway.core.sessions.message import Delivery, Held, Message
from gateway.core.sessions.session import Session
from gateway.core.sessions.subscription import Subscription


class Changes:
    """What the tables have to be given: rows to set, keys to remove."""

    def __init__(self) -> None:
        self.sessions: set[Session] = set()
        self.trimmed: set[Session] = set()
        """Sessions whose queue rows below `first_position` may go."""
        self.ended: list[int] = []
        self.subscriptions: dict[tuple[int, str], Subscription | None] = {}
        # In the order of their making, which is that of the rows' keys: a table is appended to.
        self.held: dict[Held, None] = {}
        self.released: set[tuple[int, int]] = set()
        self.deliveries: dict[Delivery, None] = {}
        self.completed: set[tuple[int, int]] = set()
        self.retained: dict[str, Message | None] = {}
        self.wills: dict[int, Session] = {}
        self.orphans: set[int] = set()
        """Numbers of messages that lost a reference: their rows may have none left."""

    def count(self) -> int:
        """Return how many keys are touched."""
        return (
            len(self.sessions)
            + len(self.trimmed)
            + len(self.ended)
            + len(self.subscriptions)
            + len(self.held)
            + len(self.released)
            + len(self.deliveries)
            + len(self.completed)
            + len(self.retained)
            + len(self.wills)
            + len(self.orphans)
        )
