"""Full queues that refuse messages or slow publishers, so that no acknowledged message is dropped.

The configuration determines what a full queue does. If the queue refuses messages, a QoS 1 or 2
PUBLISH is refused for all receivers, or deferred (`defer`). If the queue slows its publishers
(`backpressure`), the PUBLISH is always deferred. A refused or deferred PUBLISH reaches no receiver,
so no receiver gets a duplicate when it is sent again. Wills, and messages that were already
acknowledged with PUBREC, have been accepted earlier. They are added to a full queue even if they
exceed its limits.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.rules.deliver import backpressure, defer, enqueue
from gateway.broker.core.rules.publish.admission import size_bytes_of
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.topics.route import Group
from gateway.broker.core.violation import Violation
from gateway.broker.core.when_full import WhenFull
from gateway.broker.wire.codes import QUOTA_EXCEEDED
from gateway.broker.wire.packets import Publish

QUEUE_REFUSES: Final = "queue_refuses"
"""Reason in statistics for messages refused or deferred because of a queue that refuses."""

RETRY_SECONDS: Final = 1.0
"""Seconds between retries, for cases in which room is made without an acknowledgement: a session
ended, or its filter was removed."""

WAIT_CYCLE_MAX: Final = 64
"""Maximum connections followed to detect a cycle of connections that wait for each other."""


def refused_or_deferred(
    core: Core, session: Session, connection: Connection, packet: Publish, now: float
) -> bool:
    """Refuse or defer a PUBLISH if the queue of a receiver is full.

    Return True if the PUBLISH was refused or deferred. The caller must then stop processing it.
    """
    if not packet.qos or (packet.qos == 2 and packet.packet_id in session.inbound):
        return False  # it is not acknowledged, or is already held
    deferred = connection.deferred
    if deferred.packets:
        _defer(core, connection, packet, deferred.awaited_session, now)
        return True
    if core.permissions.restricted and core.permissions.refuses_publish(
        session, packet.topic, packet.qos, packet.retain
    ):
        return False  # the client must not find out whose queue is full
    full = _blocking_session(core, session, connection, packet, now)
    if full is None:
        return False
    if full.when_full is WhenFull.SLOW:
        core.statistics.publishes_slowed += 1
        _defer(core, connection, packet, full, now)
        return True
    full.is_awaited = True
    enqueue.note_overflow(core, full, "when_full", "publishers have to wait")
    if connection.version == 5:
        defer.refuse(core, connection, packet, QUEUE_REFUSES)
    else:
        core.statistics.count_error(QUEUE_REFUSES)
        _defer(core, connection, packet, full, now)
    return True


def retry(core: Core, connection: Connection, now: float) -> None:
    """Process a connection's deferred packets again, unless the first packet must still wait."""
    deferred, session = connection.deferred, connection.session
    awaited_session = deferred.awaited_session
    if (
        session is not None
        and awaited_session is not None
        and awaited_session.slows
        and deferred.packets
    ):
        awaited_session = _blocking_session(core, session, connection, deferred.packets[0], now)
        if awaited_session is not None and awaited_session.slows:
            deferred.awaited_session = awaited_session
            core.timers.add(now + RETRY_SECONDS, Timer(TimerKind.DEFERRED, connection, None))
            return
    defer.take(core, connection)


def _blocking_session(
    core: Core, publisher: Session, connection: Connection, packet: Publish, now: float
) -> Session | None:
    """Return a session whose full queue prevents the acceptance of a PUBLISH, or None."""
    route = core.state.tree.route_of(packet.topic)
    waits = connection.unslowed_until <= now
    size_bytes = size_bytes_of(packet)
    for target in route.targets:
        session = target.session
        if not target.qos or (target.no_local and session is publisher):
            continue
        if session.when_full is WhenFull.REFUSE:
            if not _has_place(core, session, size_bytes):
                return session
        elif waits and backpressure.slows(core, session, publisher):
            return session
    for group in route.groups:
        full = _full_in(core, group, publisher, size_bytes)
        if full is not None and (waits or not full.slows):
            return full
    return None


def _full_in(core: Core, group: Group, publisher: Session, size_bytes: int) -> Session | None:
    """Return a member whose full queue prevents delivery to a shared subscription, or None.

    If a member's queue slows its publishers, the message must wait, unless another connected member
    has room. If a member's queue is full and refuses messages, the message is refused, unless
    another member has room.
    """
    full: Session | None = None
    slow: Session | None = None
    others_have_place = False
    core.state.work.spent += len(group.members) // 8
    for member, subscription in group.members.items():
        if not subscription.qos:
            return None
        if backpressure.slows(core, member, publisher):
            slow = member
        elif _has_place(core, member, size_bytes):
            if member.connection is not None and not member.is_half_full:
                return None
            others_have_place = True
        elif member.when_full is WhenFull.REFUSE:
            full = member
    if slow is not None:
        return slow
    return None if others_have_place else full


def _has_place(core: Core, session: Session, size_bytes: int) -> bool:
    # An empty queue always accepts a message: one larger than the limit would never have room.
    return not session.queued_count or session.has_room(core.limits, size_bytes)


def _defer(
    core: Core, connection: Connection, packet: Publish, awaited_session: Session | None, now: float
) -> None:
    deferred = connection.deferred
    if not deferred.packets:
        deferred.awaited_session = awaited_session
        core.timers.add(now + RETRY_SECONDS, Timer(TimerKind.DEFERRED, connection, None))
    defer.defer(core, connection, packet)
    if not deferred.is_full or not _waits_for_itself(core, connection):
        return
    if deferred.awaited_session is not None and deferred.awaited_session.when_full is WhenFull.SLOW:
        # The awaited queue then drops messages at its limits, like that of an absent client.
        core.statistics.count_error("queue_circle")
        connection.unslowed_until = now + RETRY_SECONDS
        core.timers.add(now, Timer(TimerKind.DEFERRED, connection, None))
    else:
        core.statistics.count_error("queue_circle")
        detail = (
            "PUBLISH waits for room in a queue whose client waits for this one: expected a "
            "client that receives on another connection than it publishes on"
        )
        violation = Violation("queue_circle", QUOTA_EXCEEDED, detail)
        disconnect.end(core, connection, CloseReason.SLOW, now, violation)


def _waits_for_itself(core: Core, connection: Connection) -> bool:
    """Return True if a connection waits for a full queue that only its own input can empty.

    Such a connection would wait forever. The result is also True if several connections wait for
    each other's queues in a cycle.
    """
    waits = connection
    for _ in range(WAIT_CYCLE_MAX):
        awaited_session = waits.deferred.awaited_session
        if (
            awaited_session is None
            or awaited_session.connection is None
            or not waits.deferred.is_full
        ):
            return False
        if awaited_session.connection is connection:
            return True
        waits = awaited_session.connection
    return False
