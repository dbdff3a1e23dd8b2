"""The queue of a session, and the policies for a full queue.

The limits are `max_mqueue_len`, `max_mqueue_bytes` and the quota of the session's user. When a
limit is reached, the session's policy (`WhenFull`) applies. Queues of clean sessions are kept in
memory. If they take more than `max_queue_memory` together, the largest queue loses its newest
messages.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.effects import PageRequest
from gateway.broker.core.limits import QUEUE_PAGE_MESSAGES, QUEUED_BYTES
from gateway.broker.core.records.kinds import DropReason, Observation
from gateway.broker.core.rules.deliver import backpressure, defer
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import QOS, Delivery, DeliveryState, Message
from gateway.broker.core.sessions.session import MemoryQueues, Session
from gateway.broker.core.when_full import WhenFull

QUEUE_MEMORY: Final = "queue_memory"
"""Reason in statistics for messages dropped because clean sessions use too much memory."""

FREED_BYTES_MIN: Final = 64 * 1024
"""Minimum bytes freed from the largest queue, because all queues are searched to find it."""


def apply_policies(core: Core, now: float) -> None:
    """Set each session's `when_full` policy, at startup or when the policies have changed."""
    for session in core.state.sessions.values():
        session.when_full = core.limits.policy_for(session.client_id)
        if session.slows and session.connection is not None:
            backpressure.check_pace(core, session, session.connection, now)


def add(core: Core, session: Session, message: Message, flags: int) -> None:
    """Queue a message. If the queue is full, apply the session's policy (`WhenFull`)."""
    size_bytes = message.size_bytes()
    if not session.has_room(core.limits, size_bytes):
        reason = _reason_of(core, session)
        if not _accepts_more(core, session, flags, size_bytes):
            _drop(core, session, message, reason)
            return
    memory = session.memory_queues
    if memory is not None and not _has_memory(core, session, memory, size_bytes):
        _drop_in_memory(core, session, message)
        return
    delivery = Delivery(session, message, message.number, flags, session.next_position)
    core.recorder.message_queued(delivery, size_bytes)
    backpressure.queued(core, session)


def _has_memory(core: Core, session: Session, memory: MemoryQueues, size_bytes: int) -> bool:
    """Return True if there is enough memory to queue another message for a clean session.

    If necessary, messages in the largest queue are dropped, unless this session's own queue is the
    largest.
    """
    limit_bytes = core.limits.max_queue_memory_bytes
    needed_bytes = QUEUED_BYTES + size_bytes
    if memory.bytes_count + needed_bytes <= limit_bytes:
        return True
    largest = memory.largest()
    if largest is None or largest.memory_bytes() <= session.memory_bytes():
        return False
    target_bytes = max(0, limit_bytes - max(needed_bytes, FREED_BYTES_MIN))
    while memory.bytes_count > target_bytes and largest.queued_count:
        delivery = largest.take_newest()
        delivery.state = DeliveryState.DONE
        if delivery.message is not None:
            _drop_in_memory(core, largest, delivery.message)
    return memory.bytes_count + needed_bytes <= limit_bytes


def _drop_in_memory(core: Core, session: Session, message: Message) -> None:
    core.statistics.drop(session, message.topic, QUEUE_MEMORY)
    note_overflow(core, session, "max_queue_memory", "its newest messages are dropped")


def drop_retained_if_full(core: Core, session: Session, message: Message) -> bool:
    """Drop a retained message for a session whose queue is full and slows its publishers.

    Return True if the message was dropped. A publisher would wait until the queue has room, but a
    stored retained message has no publisher that could wait.
    """
    size_bytes = message.size_bytes()
    if not session.slows or session.has_room(core.limits, size_bytes):
        return False
    _drop(core, session, message, _reason_of(core, session))
    return True


def _reason_of(core: Core, session: Session) -> DropReason:
    is_long = session.queued_count >= core.limits.max_mqueue_len
    return DropReason.QUEUE_FULL if is_long else DropReason.QUEUE_BYTES


def _accepts_more(core: Core, session: Session, flags: int, size_bytes: int) -> bool:
    """Return True if a queue that has reached its limit may accept one more message."""
    if session.when_full is WhenFull.DROP_NEWEST:
        return False
    if session.when_full is WhenFull.REFUSE:
        # QoS 1 and 2 messages were checked before they were acknowledged: `full_queues`.
        return flags & QOS > 0
    if session.when_full is WhenFull.SLOW:
        return (
            session.slows
            and flags & QOS > 0
            and backpressure.accepts_above_limit(session, size_bytes, core.limits)
        )
    while session.queued_count and not session.has_room(core.limits, size_bytes):
        if not _displace(core, session):
            break
    if not session.queued_count or session.has_room(core.limits, size_bytes):
        return True
    # The oldest message is on disk. It is dropped when it has been loaded.
    if not session.loading:
        request_page(core, session)
    limits = core.limits
    return (
        session.queued_count < limits.max_mqueue_len + QUEUE_PAGE_MESSAGES
        and session.queued_bytes < limits.max_mqueue_bytes + limits.max_packet_size_bytes
    )


def _displace(core: Core, session: Session) -> bool:
    """Drop the oldest message of a queue. Return False if it is not in memory, otherwise True."""
    front = session.front()
    if front is None:
        return False
    note_overflow(core, session, "when_full", "the oldest messages are dropped")
    topic = None if front.message is None else front.message.topic
    core.statistics.drop(session, topic, DropReason.DISPLACED.word)
    core.recorder.waiting_dropped(front, DropReason.DISPLACED)
    return True


def request_page(core: Core, session: Session) -> None:
    """Request a session's queued messages from disk. Delivery waits until they are loaded."""
    session.loading = True
    core.effects.pages.append(PageRequest(session))


def displace_excess(core: Core, session: Session) -> None:
    """Drop the oldest messages of a queue until the queue is within its limits.

    These messages were only on disk when newer messages were added, so they could not be dropped at
    that time.
    """
    limits = core.limits
    while (
        session.queued_count > limits.max_mqueue_len
        or session.queued_bytes > limits.max_mqueue_bytes
    ):
        if not _displace(core, session):
            return


def _drop(core: Core, session: Session, message: Message, reason: DropReason) -> None:
    core.statistics.drop(session, message.topic, reason.word)
    core.recorder.message_dropped(session, message.number, reason)
    byte_limit = session.byte_limit_reached(core.limits, message.size_bytes())
    limit = "max_mqueue_len" if reason is DropReason.QUEUE_FULL else byte_limit
    note_overflow(core, session, limit, "new messages for this session are dropped")


def note_overflow(core: Core, session: Session, limit: str, detail: str) -> None:
    """Log that a session has reached the limit named `limit`. `detail` states the consequence.

    After that, nothing more is logged about the session's limits until its queue is empty.
    """
    if not session.overflow_noted:
        session.overflow_noted = True
        core.statistics.note(
            f"client {session.client_id!r}: {limit} reached "
            f"({session.queued_count} messages in its queue): {detail}",
            session.client_id,
        )
        core.recorder.observed(session, Observation.LIMIT_HIT, limit, detail)


def drained(core: Core, session: Session, connection: Connection, now: float) -> None:
    """Update the state of a queue that became shorter, for example after an acknowledgement."""
    if not session.queued_count:
        session.overflow_noted = session.slowing_noted = False
    if session.is_half_full:
        backpressure.drained(core, session, connection, now)
    if session.is_awaited:
        _release_publishers(core, session, now)


def _release_publishers(core: Core, session: Session, now: float) -> None:
    """Retry the deferred packets of all connections if at least half of the queue is free."""
    limits = core.limits
    if (
        2 * session.queued_count <= limits.max_mqueue_len
        and 2 * session.queued_bytes <= limits.max_mqueue_bytes
    ):
        session.is_awaited = False
        defer.retry_all(core, now)
