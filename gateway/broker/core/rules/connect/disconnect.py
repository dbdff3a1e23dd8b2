"""Ends connections and sessions (sections 3.14, 4.1; MQTT 5.0 sections 3.1.2.5, 3.1.3.2.2).

When a connection ends, its will is published immediately or after its delay, unless a DISCONNECT
discards it. A session ends when its connection ends or its expiry interval has passed. It also ends
if the client requests a clean start, or if an operator deletes the session.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.records.kinds import CloseReason, EndReason, WillClearReason
from gateway.broker.core.rules.deliver import backpressure
from gateway.broker.core.rules.publish import publish
from gateway.broker.core.rules.subscribe import retained, shared_subscriptions
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.sessions.session import EXPIRY_NEVER, NO_TIMER, Session
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.violation import Violation, protocol_violation
from gateway.broker.core.work import FILTER_UNITS
from gateway.broker.wire.codes import (
    ADMINISTRATIVE_ACTION,
    KEEP_ALIVE_TIMEOUT,
    NORMAL,
    PROTOCOL_ERROR,
    SERVER_SHUTTING_DOWN,
    SESSION_TAKEN_OVER,
    UNSPECIFIED_ERROR,
)
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Disconnect, Properties

DISCONNECT_CODES: Final = {
    CloseReason.KEEP_ALIVE: KEEP_ALIVE_TIMEOUT,
    CloseReason.TAKEOVER: SESSION_TAKEN_OVER,
    CloseReason.KICKED: ADMINISTRATIVE_ACTION,
    CloseReason.SLOW: UNSPECIFIED_ERROR,
    CloseReason.SHUTDOWN: SERVER_SHUTTING_DOWN,
    CloseReason.PROTOCOL_ERROR: PROTOCOL_ERROR,
}
"""Reason codes for a 5.0 client when the broker closes its connection (section 4.13)."""

NO_FLAPPING: Final = (CloseReason.SHUTDOWN, CloseReason.KICKED)
"""Disconnections that do not count as flapping, because the gateway causes them."""


def seal(core: Core) -> None:
    """Remember the clients whose sessions end in the batch that is being sealed."""
    core.ended_clients_sealed, core.ended_clients = core.ended_clients, set()


def committed(core: Core) -> None:
    """Forget the clients whose sessions ended in the committed batch."""
    core.ended_clients_sealed = set()


# -- connections


def receive_disconnect(
    core: Core, connection: Connection, packet: Disconnect, now: float
) -> Violation | None:
    """Process DISCONNECT: end the connection, and discard its will if the reason code is 0x00."""
    session = connection.session
    connection.has_disconnected = True
    properties = packet.properties
    is_recorded = False
    if session is not None and properties is not None:
        expiry = properties.session_expiry_interval_seconds
        if expiry is not None:
            if expiry and not connection.session_expiry_seconds:
                # 5.0 section 3.14.2.2.2
                return protocol_violation(
                    "DISCONNECT with a session expiry interval after CONNECT with none"
                )
            longest = core.limits.max_session_expiry_seconds
            if longest is not None:
                expiry = min(expiry, int(longest))
            core.recorder.expiry_changed(session, expiry)
            is_recorded = True
    if session is not None and session.will is not None:
        is_recorded = True
        # [MQTT5-3.1.2-10] 0x04 requests the will, and an error code does not discard it
        if packet.reason_code == NORMAL:
            core.recorder.will_cleared(session, WillClearReason.DISCONNECT)  # [MQTT-3.14.4-3]
    if is_recorded:
        # When the connection closes, the client concludes that its will is gone and its session has
        # the requested expiry, so this must be on disk by then.
        core.output.close_after_commit(connection)
    else:
        core.output.close(connection)
    _detach(core, connection, CloseReason.DISCONNECT, now)
    return None


def end(
    core: Core,
    connection: Connection,
    reason: CloseReason,
    now: float,
    violation: Violation | None = None,
) -> None:
    """Close a connection, unless it is already closed.

    The client's will is published or scheduled. The session ends too if it does not outlive its
    connection. `violation` is reported to an MQTT 5.0 client as a reason code and, unless the
    client has declined it, a reason string.
    """
    if not connection.is_open:
        return
    if (
        connection.version == 5
        and connection.state is ConnectionState.CONNECTED
        and reason is not CloseReason.NETWORK
    ):
        _send_disconnect(core, connection, reason, violation)
    core.output.close(connection)
    _detach(core, connection, reason, now)


def _send_disconnect(
    core: Core, connection: Connection, reason: CloseReason, violation: Violation | None
) -> None:
    """Send DISCONNECT with the reason to an MQTT 5.0 client [MQTT5-3.14.0-1]."""
    if not connection.connack_released:
        return  # CONNACK must come first, and is still withheld
    code = DISCONNECT_CODES.get(reason, UNSPECIFIED_ERROR)
    properties: Properties | None = None
    if violation is not None:
        code = violation.reason_code
        if connection.wants_problem_information:
            properties = Properties()
            properties.reason_string = violation.detail[:500]
    frame = encode(Disconnect(code, properties), 5)
    largest = connection.maximum_packet_size_bytes
    if largest and len(frame) > largest:
        # [MQTT5-3.14.2-3] a reason string that does not fit is left out
        frame = encode(Disconnect(code), 5)
        if len(frame) > largest:
            return
    core.output.push(connection, frame)


def _detach(core: Core, connection: Connection, reason: CloseReason, now: float) -> None:
    session = connection.session
    forget(core, connection)
    if session is None or session.connection is not connection:
        return
    session.connection = None
    owner = session.owner
    if owner is not None:
        owner.connections -= 1
    session.away_since = now
    session.unsent.clear()
    backpressure.client_disconnected(core, session, now)
    core.statistics.disconnected(session, reason)
    if core.bans.flapping.enabled and reason not in NO_FLAPPING:
        core.bans.flapping.disconnected(session.client_id, connection.address, now)
    core.recorder.session_closed(session, reason, core.time.time_ms)
    if not session.expiry_seconds:
        # The session ends with its connection, so its will is not delayed [MQTT5-3.1.2-23].
        end_session(
            core, session, EndReason.EXPIRED if session.persistent else EndReason.CLEAN_SESSION, now
        )
        return
    if session.will is not None:
        schedule_will(core, session, now)
    schedule_expiry(core, session, now)
    if owner is not None and not session.ended and session.is_unused():
        owner.unused[session] = None


def forget(core: Core, connection: Connection) -> None:
    """Mark a connection as closed, and release all memory used for it."""
    if connection.is_open:
        connection.state = ConnectionState.CLOSED
        connection.free_memory()
        core.timers.forget_connection(connection)
        core.silent.pop(connection, None)
        retained.forget(core, connection)
        core.incoming.forget(connection)
        core.statistics.connections_open -= 1
        if connection.share is not None:
            connection.share.connections_open -= 1


# -- wills


def schedule_will(core: Core, session: Session, now: float) -> None:
    """Publish a session's will now, or schedule the will if it has a delay (section 3.1.3.2.2)."""
    will = session.will
    if will is None or session.connection is not None:
        return
    due = session.away_since + will.delay_seconds
    if due <= now:
        publish.publish_will(core, session, now)
    else:
        core.timers.add(due, Timer(TimerKind.WILL_DELAY, None, session))


# -- sessions


def end_session(core: Core, session: Session, reason: EndReason, now: float) -> None:
    """End a session. If its will has not been published yet, publish it first."""
    if session.will is not None:
        publish.publish_will(core, session, now)
    shared_subscriptions.begin(core, session, now)
    core.recorder.state.work.spent += FILTER_UNITS * len(session.subscriptions)
    core.recorder.session_ended(session, reason)
    core.timers.forget_session(session)
    core.permissions.forget(session)
    if session.persistent:
        core.ended_clients.add(session.client_id)


def end_is_pending(core: Core, client_id: str) -> bool:
    """Return True if the end of a client's session has not been committed yet.

    If the power failed now, the session would exist again after the restart.
    """
    return client_id in core.ended_clients or client_id in core.ended_clients_sealed


def schedule_expiry(core: Core, session: Session, now: float) -> None:
    """Schedule the end of a disconnected session after its expiry interval.

    A timer that is still set from an earlier disconnection is reused. Another timer is added only
    if the interval was shortened and the existing timer would fire too late.
    """
    expiry = _expiry_of(core, session)
    if expiry is None or session.ended or session.connection is not None:
        return
    due = max(now, session.away_since + expiry)
    if due < session.expiry_timer_due:
        session.expiry_timer_due = due
        core.timers.add(due, Timer(TimerKind.SESSION_EXPIRY, None, session))


def longest_expiry_of(core: Core, owner: Owner | None) -> float | None:
    """Return the maximum session expiry of a user in seconds, or None if there is no maximum."""
    longest = core.limits.max_session_expiry_seconds
    own = None if owner is None else owner.quota.session_expiry_seconds
    if own is None or longest is None:
        return longest if own is None else own
    return min(own, longest)


def _expiry_of(core: Core, session: Session) -> float | None:
    longest = longest_expiry_of(core, session.owner)
    if session.expiry_seconds == EXPIRY_NEVER:
        return longest
    if longest is None:
        return float(session.expiry_seconds)
    return min(float(session.expiry_seconds), longest)


def expire(core: Core, session: Session, now: float) -> None:
    """End a session when its expiry timer has fired, unless the client has reconnected."""
    if now >= session.expiry_timer_due:
        session.expiry_timer_due = NO_TIMER
    expiry = _expiry_of(core, session)
    if session.ended or session.connection is not None or expiry is None:
        return
    # The same sum as when the timer was set. The difference between the times might be rounded
    # down, below the interval.
    if now >= session.away_since + expiry:
        core.statistics.clients_expired += 1
        end_session(core, session, EndReason.EXPIRED, now)
    else:
        schedule_expiry(core, session, now)
