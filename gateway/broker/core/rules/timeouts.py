"""Actions that run when a timer is due, for example for keep-alive, expiry, delays and retries."""

from collections.abc import Callable
from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.limits import SLOW_READER_SECONDS
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules import full_queues
from gateway.broker.core.rules.connect import disconnect, keep_alive, refuse
from gateway.broker.core.rules.deliver import backpressure, resend
from gateway.broker.core.rules.publish import qos2_receive
from gateway.broker.core.rules.subscribe import retained
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.violation import Violation
from gateway.broker.core.work import SLICE_UNITS
from gateway.broker.wire.codes import MAXIMUM_CONNECT_TIME, SERVER_BUSY

CONNECT_TIMEOUT: Final = "connect_timeout"
CREDENTIALS_EXPIRED: Final = "credentials_expired"

RECONNECT_SECONDS: Final = 5.0
"""Seconds to reconnect after the process was paused, for clients whose session expiry or will delay
ended during the pause. They could not reconnect before."""

ABSENCE_TIMERS: Final = (TimerKind.WILL_DELAY, TimerKind.SESSION_EXPIRY)

TIMER_UNITS: Final = 7
"""Minimum units of work for each timer: after 71 timers, sockets are served again."""


def watch_slow_reader(core: Core, connection: Connection, now: float) -> None:
    """Set a timer to close the connection if the client reads nothing for SLOW_READER_SECONDS."""
    if not connection.slow_reader_scheduled and connection.is_open:
        connection.slow_reader_scheduled = True
        due = max(now, connection.unwritable_since + SLOW_READER_SECONDS)
        core.timers.add(due, Timer(TimerKind.SLOW_READER, connection, None))


def run_due(core: Core, now: float) -> None:
    """Run the timers that are due, for at most one slice of work.

    A timer that is set during this call is run by a later call. The event loop can therefore
    process sockets first.
    """
    work = core.state.work
    work.spent = 0
    last = core.timers.count
    while work.spent <= SLICE_UNITS:
        timer = core.timers.take_due(now, last)
        if timer is None:
            return
        work.spent += TIMER_UNITS
        if timer.connection is not None and timer.connection.is_open:
            CONNECTION_TIMERS[timer.kind](core, timer, timer.connection, now)
        elif timer.session is not None and not timer.session.ended:
            SESSION_TIMERS[timer.kind](core, timer, timer.session, now)


def restart(core: Core, now: float) -> None:
    """Restart the timeouts of all clients, because the broker was blocked and could not read."""
    for session in core.state.sessions.values():
        connection = session.connection
        if connection is not None:
            connection.last_packet = now
            connection.unwritable_since = now
    for timer in list(core.timers.heap):
        if timer.kind is TimerKind.CONNECT_TIMEOUT:
            core.timers.add(now + core.limits.connect_timeout_seconds, timer)
        elif timer.kind in ABSENCE_TIMERS and timer.due <= now:
            core.timers.add(now + RECONNECT_SECONDS, timer)


# -- timers of a connection


def _resume_retained(core: Core, _: Timer, connection: Connection, now: float) -> None:
    retained.resume(core, connection, now)


def _retry_deferred(core: Core, _: Timer, connection: Connection, now: float) -> None:
    full_queues.retry(core, connection, now)


def _check_pace(core: Core, _: Timer, connection: Connection, now: float) -> None:
    if connection.session is not None:
        backpressure.check_pace(core, connection.session, connection, now)


def _end_before_connected(core: Core, _: Timer, connection: Connection, now: float) -> None:
    """End a connection whose client was not accepted in time.

    If the client's login is still being checked, the client gets a CONNACK first, with the reason
    code "server busy".
    """
    if connection.state is ConnectionState.AUTHENTICATING:
        detail = "its login was not checked in time"
        refuse.refuse(core, connection, SERVER_BUSY, CONNECT_TIMEOUT, detail)
    elif connection.state is not ConnectionState.CONNECTED:
        core.statistics.count_error(CONNECT_TIMEOUT)
        disconnect.end(core, connection, CloseReason.KEEP_ALIVE, now)


def _check_keep_alive(core: Core, timer: Timer, connection: Connection, now: float) -> None:
    if not keep_alive.check(core, connection, timer, now):
        core.statistics.count_error("keep_alive")
        disconnect.end(core, connection, CloseReason.KEEP_ALIVE, now)


def _check_slow_reader(core: Core, _: Timer, connection: Connection, now: float) -> None:
    connection.slow_reader_scheduled = False
    if connection.writable:
        return
    if now < connection.unwritable_since + SLOW_READER_SECONDS:
        watch_slow_reader(core, connection, now)
        return
    core.statistics.count_error("slow_reader")
    disconnect.end(core, connection, CloseReason.SLOW, now)


def _end_for_credentials(core: Core, _: Timer, connection: Connection, now: float) -> None:
    """End a connection whose credentials have expired."""
    core.statistics.count_error(CREDENTIALS_EXPIRED)
    detail = "the token of its client has expired"
    violation = Violation(CREDENTIALS_EXPIRED, MAXIMUM_CONNECT_TIME, detail)
    disconnect.end(core, connection, CloseReason.KICKED, now, violation)


def _resend(core: Core, timer: Timer, connection: Connection, now: float) -> None:
    interval = core.limits.retry_interval_seconds
    if interval is not None and connection.session is not None:
        resend.retry(core, connection.session, interval, now)
        core.timers.add(now + interval, timer)


# -- timers of a session


def _expire(core: Core, _: Timer, session: Session, now: float) -> None:
    disconnect.expire(core, session, now)


def _publish_will(core: Core, _: Timer, session: Session, now: float) -> None:
    disconnect.schedule_will(core, session, now)


def _abandon_held(core: Core, timer: Timer, session: Session, now: float) -> None:
    """Discard received QoS 2 messages whose PUBREL did not arrive within `await_rel_timeout`."""
    timeout = core.limits.await_rel_timeout_seconds
    session.await_rel_scheduled = False
    if timeout is None:
        return
    for held in session.inbound.values():
        if now - held.since >= timeout:
            qos2_receive.abandon(core, held)
    if session.connection is not None or session.inbound:
        session.await_rel_scheduled = True
        core.timers.add(now + timeout, timer)


CONNECTION_TIMERS: Final[dict[TimerKind, Callable[[Core, Timer, Connection, float], None]]] = {
    TimerKind.CONNECT_TIMEOUT: _end_before_connected,
    TimerKind.KEEP_ALIVE: _check_keep_alive,
    TimerKind.SLOW_READER: _check_slow_reader,
    TimerKind.CREDENTIALS: _end_for_credentials,
    TimerKind.RETRY: _resend,
    TimerKind.RETAINED: _resume_retained,
    TimerKind.DEFERRED: _retry_deferred,
    TimerKind.PACE: _check_pace,
}
SESSION_TIMERS: Final[dict[TimerKind, Callable[[Core, Timer, Session, float], None]]] = {
    TimerKind.SESSION_EXPIRY: _expire,
    TimerKind.WILL_DELAY: _publish_will,
    TimerKind.AWAIT_REL: _abandon_held,
}
