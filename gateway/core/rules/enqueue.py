"""Into the queue of a session, and what becomes of a message that it has no room for.

The limits are `max_mqueue_len`, `max_mqueue_bytes` and the quota of the session's user; what
happens there is the session's `WhenFull`.
"""

from gateway.core.core import Core
from gateway.core.effects import PageRequest
from gateway.core.limits import QUEUE_PAGE_MESSAGES
from gateway.core.records.kinds import DropReason, Observation
from gateway.core.rules.put_off import PuttingOff
from gateway.core.sessions.message import QOS, Delivery, Message
from gateway.core.sessions.session import Session
from gateway.core.sessions.when_full import WhenFull


class Enqueueing:
    """Adds to queues, within their limits."""

    def __init__(self, core: Core, putting_off: PuttingOff) -> None:
        self.state = core.state
        self.recorder = core.recorder
        self.limits = core.limits
        self.statistics = core.statistics
        self.effects = core.effects
        self.putting_off = putting_off

    def apply_policies(self) -> None:
        """Let what `Limits.when_full_of` answers now hold for all sessions."""
        for session in self.state.sessions.values():
            session.when_full = self.limits.when_full(session.client_id)

    def add(self, session: Session, message: Message, flags: int) -> None:
        """Queue a message, or do what the session does when its queue is full."""
        size_bytes = message.size_bytes()
        if not session.has_room(self.limits, size_bytes):
            is_long = session.queued_count >= self.limits.max_mqueue_len
            reason = DropReason.QUEUE_FULL if is_long else DropReason.QUEUE_BYTES
            if not self._takes_more(session, flags, size_bytes):
                self._drop(session, message, reason)
                return
        delivery = Delivery(session, message, message.number, flags, session.next_position)
        self.recorder.message_queued(delivery, size_bytes)

    def _takes_more(self, session: Session, flags: int, size_bytes: int) -> bool:
        """Return whether a queue at its limit takes a message all the same."""
        if session.when_full is WhenFull.DROP_NEWEST:
            return False
        if session.when_full is WhenFull.REFUSE:
            # QoS 1 and 2 was asked about before it was acknowledged: `full_queues`.
            return flags & QOS > 0
        while session.queued_count and not session.has_room(self.limits, size_bytes):
            if not self._displace(session):
                break
        if not session.queued_count or session.has_room(self.limits, size_bytes):
            return True
        # What has waited longest is on disk: it is dropped when it has been read.
        if not session.loading:
            self.request_page(session)
        limits = self.limits
        return (
            session.queued_count < limits.max_mqueue_len + QUEUE_PAGE_MESSAGES
            and session.queued_bytes < limits.max_mqueue_bytes + limits.max_packet_size_bytes
        )

    def _displace(self, session: Session) -> bool:
        """Drop what has waited longest; return whether it is in memory."""
        front = session.front()
        if front is None:
            return False
        self.note_overflow(session, "when_full", "the oldest messages are dropped")
        topic = None if front.message is None else front.message.topic
        self.statistics.drop(session, topic, DropReason.DISPLACED.word)
        self.recorder.waiting_dropped(front, DropReason.DISPLACED)
        return True

    def request_page(self, session: Session) -> None:
        """Have what waits on disk read: nothing is started before it is here."""
        session.loading = True
        self.effects.pages.append(PageRequest(session))

    def displace_excess(self, session: Session) -> None:
        """Drop what was taken beyond the limits while the oldest messages were on disk."""
        limits = self.limits
        while (
            session.queued_count > limits.max_mqueue_len
            or session.queued_bytes > limits.max_mqueue_bytes
        ):
            if not self._displace(session):
                return

    def _drop(self, session: Session, message: Message, reason: DropReason) -> None:
        self.statistics.drop(session, message.topic, reason.word)
        self.recorder.message_dropped(session, message.number, reason)
        byte_limit = session.byte_limit_reached(self.limits, message.size_bytes())
        limit = "max_mqueue_len" if reason is DropReason.QUEUE_FULL else byte_limit
        self.note_overflow(session, limit, "new messages for this session are dropped")

    def note_overflow(self, session: Session, limit: str, detail: str) -> None:
        """Write once, until the queue is empty again, that a session has met a limit."""
        if not session.overflow_noted:
            session.overflow_noted = True
            self.statistics.note(
                f"client {session.client_id!r}: {limit} reached "
                f"({session.queued_count} messages in its queue): {detail}",
                session.client_id,
            )
            self.recorder.observed(session, Observation.LIMIT_HIT, limit, detail)

    def let_publishers_go_on(self, session: Session, now: float) -> None:
        """Have what waits for a queue handled again once there is room for more than a little."""
        limits = self.limits
        if (
            2 * session.queued_count <= limits.max_mqueue_len
            and 2 * session.queued_bytes <= limits.max_mqueue_bytes
        ):
            session.is_awaited = False
            self.putting_off.retry_all(now)
