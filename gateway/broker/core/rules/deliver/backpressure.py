"""Backpressure: publishers wait while a subscriber's queue is long (`WhenFull.SLOW`).

A queue becomes *deep* when it reaches half of one of its limits, and stays deep until it is below
47 % of every limit. A deep queue slows its publishers: QoS 1 and 2 PUBLISH packets for it must wait
(`full_queues`). They are not acknowledged while they wait, so no acknowledged message is dropped.
However, publishers wait only if the subscriber is connected, has acknowledged a message within
READING_SECONDS, and can empty its queue within DRAIN_SECONDS_MAX. Otherwise, the queue fills up,
and messages beyond its limits are dropped.
"""

from typing import Final

from mypy_extensions import i64

from gateway.broker.core.core import Core
from gateway.broker.core.limits import ACCEPTED_BEFORE_BYTES as BEFORE_BYTES
from gateway.broker.core.limits import ACCEPTED_BEFORE_MESSAGES as BEFORE_MESSAGES
from gateway.broker.core.limits import DRAIN_SECONDS_MAX, PACE_SECONDS, READING_SECONDS, Limits
from gateway.broker.core.quota import NO_USER
from gateway.broker.core.rules.deliver import defer
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import NO_TIMER, Session
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.when_full import WhenFull

PACE_CHECK_SECONDS: Final = 1.0
"""Seconds between checks of whether a client that slows publishers still reads."""

NEVER: Final = float("-inf")


# -- the depth of a queue


def queued(core: Core, session: Session) -> None:
    """Update the state of a queue after a message was added to it.

    When the queue becomes half full, it starts to slow its publishers if its policy is SLOW and its
    client is connected. If a queue that does not slow its publishers becomes nearly full, this is
    logged.
    """
    if session.is_half_full:
        if not (session.filling_noted or session.slows) and _is_filled(core, session, 80):
            session.filling_noted = True
            # If the queue is already full, the log has a line about dropped messages.
            if not _is_filled(core, session, 100):
                _note_filling(core, session)
    elif _is_filled(core, session, 50):
        session.is_half_full = True
        connection = session.connection
        if session.when_full is WhenFull.SLOW and connection is not None:
            # The timer checks whether its client reads, because there is no clock here.
            _start_slowing(core, session)
            core.timers.add(0.0, Timer(TimerKind.PACE, connection, None))


def drained(core: Core, session: Session, connection: Connection, now: float) -> None:
    """Update the state of a deep queue (half full or more) after an acknowledgement."""
    if not _is_filled(core, session, 47):
        session.is_half_full = session.filling_noted = False
        _stop_slowing(core, session, now)
    elif not session.slows:
        check_pace(core, session, connection, now)


def _is_filled(core: Core, session: Session, percent: i64) -> bool:
    """Return True if a queue is filled to at least `percent` percent of one of its limits."""
    count: i64 = session.queued_count
    if count == 0:
        return False
    # Called for each queued message. The limits can be too large to be multiplied as i64.
    limits = core.limits
    messages_max: i64 = limits.max_mqueue_len
    if 100 * count // percent >= messages_max:
        return True
    size: i64 = session.queued_bytes
    bytes_max: i64 = limits.max_mqueue_bytes
    if 100 * size // percent >= bytes_max:
        return True
    owner = session.owner
    if owner is not None and 100 * owner.queued_bytes // percent >= owner.queued_bytes_max:
        return True
    memory = session.memory_queues
    if memory is None:
        return False
    used: i64 = memory.bytes_count
    memory_max: i64 = limits.max_queue_memory_bytes
    if 100 * used // percent < memory_max:
        return False
    # Only sessions that use at least the average memory of all clean sessions.
    return session.memory_bytes() * len(memory.sessions) >= memory.bytes_count


def _note_filling(core: Core, session: Session) -> None:
    if session.when_full is WhenFull.DROP_OLDEST:
        return
    who = "its client is away" if session.connection is None else "its client reads too slowly"
    core.statistics.note(
        f"client {session.client_id!r}: its queue is 80 % full ({session.queued_count} "
        f"messages, {session.queued_bytes} bytes): {who}. When it is full, "
        f"{WHEN_FULL_WORDS[session.when_full]}",
        session.client_id,
    )


# -- whether publishers wait


def connected(core: Core, session: Session, now: float) -> None:
    """Check the queue of a client that has reconnected.

    If the queue is deep (half full or more), publishers do not wait for it until the client has
    acknowledged a message.
    """
    session.is_half_full = _is_filled(core, session, 50)
    session.acknowledged_at = NEVER if session.is_half_full else now
    session.pace.begin(now, session.first_position)


def client_disconnected(core: Core, session: Session, now: float) -> None:
    """Release the publishers that wait for a session, because its client has disconnected."""
    session.acknowledged_at = NEVER
    _stop_slowing(core, session, now)


def check_pace(core: Core, session: Session, connection: Connection, now: float) -> None:
    """Decide whether a deep queue (half full or more) should slow its publishers.

    If the queue does not slow its publishers, those that are waiting are released.
    """
    if not session.is_half_full or session.when_full is not WhenFull.SLOW:
        _stop_slowing(core, session, now)
        return
    if _reads(core, session, connection, now):
        _start_slowing(core, session)
        core.timers.add(now + PACE_CHECK_SECONDS, Timer(TimerKind.PACE, connection, None))
    else:
        _stop_slowing(core, session, now)


def _reads(core: Core, session: Session, connection: Connection, now: float) -> bool:
    pace = session.pace
    if not connection.reading:
        # The broker does not read from the client, whose acknowledgements may be in transit.
        if session.slows:
            session.acknowledged_at = now
        pace.since = NO_TIMER
    if pace.since == NO_TIMER:
        pace.begin(now, session.first_position)
    if now - session.acknowledged_at >= READING_SECONDS:
        return False
    elapsed = now - pace.since
    if session.slows and elapsed < PACE_SECONDS:
        return True
    # The pace of a client that has just returned is measured before publishers wait for it.
    moved = session.first_position - pace.position
    if elapsed >= PACE_SECONDS:
        pace.begin(now, session.first_position)
    return moved * DRAIN_SECONDS_MAX >= max(PACE_CHECK_SECONDS, elapsed) * session.queued_count


def _start_slowing(core: Core, session: Session) -> None:
    if session.slows:
        return
    session.slows = True
    core.slowing[session] = None
    core.limits.queues_slow = True
    if not session.slowing_noted:
        session.slowing_noted = True
        core.statistics.note(
            f"client {session.client_id!r}: reads more slowly than others publish "
            f"({session.queued_count} messages in its queue): publishers wait",
            session.client_id,
        )


def _stop_slowing(core: Core, session: Session, now: float) -> None:
    if not session.slows:
        return
    session.slows = False
    session.pace.since = NO_TIMER
    core.slowing.pop(session, None)
    core.limits.queues_slow = len(core.slowing) > 0
    defer.retry_all(core, now)


# -- queries by publishers and queues


def slows(core: Core, session: Session, publisher: Session) -> bool:
    """Return True if a message from this publisher must wait for the session's queue.

    If users are configured, a session without a user slows down only publishers without a user.
    """
    if not session.slows:
        return False
    if not core.authenticates or session.owner is None or publisher.owner is None:
        return True
    return session.owner.username != NO_USER or publisher.owner.username == NO_USER


def accepts_above_limit(session: Session, size_bytes: int, limits: Limits) -> bool:
    """Return True if a full queue that slows its publishers may still accept a message.

    Messages that the broker accepted before the queue became full can still arrive. Therefore, the
    queue may exceed its limits, but only up to a fixed maximum.
    """
    return (
        session.queued_count < limits.max_mqueue_len + BEFORE_MESSAGES
        and session.queued_bytes + size_bytes <= limits.max_mqueue_bytes + BEFORE_BYTES
    )


WHEN_FULL_WORDS: Final = {
    WhenFull.SLOW: "new messages for it are dropped",
    WhenFull.DROP_NEWEST: "new messages for it are dropped",
    WhenFull.DROP_OLDEST: "its oldest messages are dropped",
    WhenFull.REFUSE: "publishers have to wait",
}
