"""Messages lost through damage to the journal, counted per session during the replay.

If the record that opened a session is unreadable, the session cannot be restored, and its messages
in later records are lost. In other sessions, a message is lost if there is no readable record for
its queue position.
"""

from mypy_extensions import mypyc_attr

from gateway.broker.core.records.kinds import RecordKind
from gateway.broker.core.records.layout import NEVER_QUEUED
from gateway.broker.core.records.record import (
    Connected,
    Contents,
    Dropped,
    Ended,
    Exchange,
    QueueRecord,
    Record,
)


@mypyc_attr(acyclic=True)
class LostSession:
    """A session that occurs in the journal although the record that opened it is unreadable."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id
        self.started_to = 0
        """Queue position after that of the last message that left the queue."""
        self.queued_from = -1
        """The first queue position in the journal, or -1 if there is none."""
        self.queued_to = -1
        """The position after the last queue position in the journal, or -1 if there is none."""
        self.in_flight: set[int] = set()
        """Packet identifiers of deliveries in flight, at most 65,535."""
        self.completed: set[int] = set()
        self.held: set[int] = set()
        """Packet identifiers of held QoS 2 messages."""

    def queued_count(self) -> int:
        """Return the number of messages queued or in flight, according to the readable records."""
        waiting = self.queued_to - max(self.queued_from, self.started_to)
        return max(0, waiting) + len(self.in_flight)

    def queue_changed(self, record: QueueRecord) -> None:
        """Update the counts from a record of a message that entered or left the queue."""
        if record.kind is RecordKind.MESSAGE_QUEUED:
            if self.queued_from < 0:
                self.queued_from = record.position
            self.queued_to = max(self.queued_to, record.position + 1)
            return
        self.consumed(record.position)
        if record.kind is RecordKind.DELIVERY_STARTED:
            self.in_flight.add(record.packet_id)
            self.completed.discard(record.packet_id)

    def consumed(self, position: int) -> None:
        """Update the counts after all messages up to this queue position have left the queue."""
        self.started_to = max(self.started_to, position + 1)

    def exchange(self, record: Exchange) -> None:
        """Update the sets of deliveries in flight and of held messages from an exchange record."""
        if record.kind is RecordKind.DELIVERY_COMPLETED:
            self.in_flight.discard(record.packet_id)
            self.completed.add(record.packet_id)
        elif record.kind in (RecordKind.MESSAGE_RELEASED, RecordKind.MESSAGE_ABANDONED):
            self.held.discard(record.packet_id)


@mypyc_attr(acyclic=True)
class LostMessages:
    """Messages that were lost through damage to the journal, counted per session.

    `sessions` and `skipped` are empty if the journal is undamaged.
    """

    def __init__(self) -> None:
        self.sessions: dict[int, LostSession] = {}
        """Lost sessions by session number."""
        self.skipped: dict[int, int] = {}
        """Number of queue positions without a record, by session number."""

    def note(self, record: Record, client_id: str) -> None:
        """Update the message counts of an unrestored session from one of its records.

        `client_id` is the session's client identifier. If the record opens or ends the session,
        the counts are discarded, because none of the session's messages are lost.
        """
        number = record.session
        if isinstance(record, (Connected, Ended)):
            # The session is opened again or ends, so nothing is lost.
            if record.kind in (RecordKind.SESSION_OPENED, RecordKind.SESSION_ENDED):
                self.sessions.pop(number, None)
            return
        if not isinstance(record, (QueueRecord, Exchange, Dropped, Contents)):
            return
        session = self.sessions.get(number)
        if session is None:
            session = self.sessions[number] = LostSession(client_id)
        if isinstance(record, QueueRecord):
            session.queue_changed(record)
        elif isinstance(record, Exchange):
            session.exchange(record)
        elif isinstance(record, Contents):
            if record.kind is RecordKind.MESSAGE_HELD:
                session.held.add(record.packet_id)
        elif record.position != NEVER_QUEUED:
            session.consumed(record.position)

    def skip(self, number: int, count: int) -> None:
        """Record that `count` messages of a session are lost because their records are unreadable.

        `number` is the session number.
        """
        if count > 0:
            self.skipped[number] = self.skipped.get(number, 0) + count
