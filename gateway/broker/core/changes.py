"""Net change of the state since the last checkpoint.

A message that arrived, was delivered and was acknowledged between two checkpoints causes no net
change, so it is never written to a table. The changes refer to live objects, so a checkpoint can
write values that are newer than its start. A later replay of the journal may then repeat changes
that are already in the tables. This is harmless, because journal records name what they change and
overwrite existing values.
"""

from gateway.broker.core.sessions.message import Delivery, DeliveryState, Held, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription


class Changes:
    """Changes since the last checkpoint: keys of table rows to write or to delete."""

    def __init__(self) -> None:
        self.sessions: set[Session] = set()
        self.trimmed: set[Session] = set()
        """Sessions whose queue rows before `first_position` may be deleted."""
        self.ended: list[int] = []
        self.subscriptions: dict[tuple[int, str], Subscription | None] = {}
        # In the order of creation, which is the order of the row keys, so rows are appended.
        self.held: dict[Held, None] = {}
        self.released: set[tuple[int, int]] = set()
        self.deliveries: dict[Delivery, None] = {}
        self.completed: set[tuple[int, int]] = set()
        self.retained: dict[str, Message | None] = {}
        self.wills: dict[int, Session] = {}
        self.orphans: set[int] = set()
        """Numbers of messages that lost a reference, and may have no reference left."""

    def session_ended(self, session: Session) -> None:
        """Discard the changes of a persistent session that ends. Mark its rows for deletion.

        Call this before the session's contents are removed.
        """
        self.ended.append(session.number)
        self.sessions.discard(session)
        self.trimmed.discard(session)
        for topic_filter in session.subscriptions:
            self.subscriptions.pop((session.number, topic_filter), None)
        for held in session.inbound.values():
            self.held.pop(held, None)
            self.orphans.add(held.message.number)
        for delivery in session.outbound.values():
            self._forget_delivery(delivery)
        for delivery in session.waiting:
            self._forget_delivery(delivery)
        for delivery in session.recent:
            self._forget_delivery(delivery)

    def _forget_delivery(self, delivery: Delivery) -> None:
        delivery.state = DeliveryState.DONE
        self.deliveries.pop(delivery, None)
        self.orphans.add(delivery.message_number)

    def count(self) -> int:
        """Return the number of changed keys."""
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
