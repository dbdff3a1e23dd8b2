"""Ends of connections and sessions (sections 3.14, 4.1; MQTT 5.0 sections 3.1.2.5, 3.1.3.2.2).

When a connection ends, its will is published immediately or after its delay, unless a DISCONNECT
discards it. A session ends with its connection, after its expiry interval, or through an operator
or a clean start.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.records.kinds import CloseReason, EndReason, WillClearReason
from gateway.broker.core.rules.deliver import Deliverer
from gateway.broker.core.rules.publish import Publisher
from gateway.broker.core.rules.retained import RetainedReplay
from gateway.broker.core.rules.shared_subscriptions import Redistribution
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
"""Reason code for a 5.0 client when the broker closes its connection (section 4.13)."""

NO_FLAPPING: Final = (CloseReason.SHUTDOWN, CloseReason.KICKED)
"""Disconnections caused by the gateway."""


class Disconnection:
    """Ends connections and sessions."""

    def __init__(
        self,
        core: Core,
        deliverer: Deliverer,
        publisher: Publisher,
        redistribution: Redistribution,
        retained_replay: RetainedReplay,
    ) -> None:
        self.recorder = core.recorder
        self.output = core.output
        self.deliverer = deliverer
        self.publisher = publisher
        self.redistribution = redistribution
        self.retained_replay = retained_replay
        self.backpressure = deliverer.enqueueing.backpressure
        self.limits = core.limits
        self.statistics = core.statistics
        self.flapping = core.bans.flapping
        self.permissions = core.permissions
        self.timers = core.timers
        self.time = core.time
        self.silent = core.silent
        self.ended: set[str] = set()
        """Clients whose persistent session ends in the current batch."""
        self.ended_sealed: set[str] = set()
        """The same for the batch that is being committed."""

    def seal(self) -> None:
        """Note that the current batch is sealed."""
        self.ended_sealed, self.ended = self.ended, set()

    def committed(self) -> None:
        """Note that the sealed batch is durable."""
        self.ended_sealed = set()

    # -- connections

    def receive_disconnect(
        self, connection: Connection, packet: Disconnect, now: float
    ) -> Violation | None:
        """Process DISCONNECT: discard the will unless the reason code keeps it, and end the
        connection.
        """
        session = connection.session
        connection.has_left = True
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
                longest = self.limits.max_session_expiry_seconds
                if longest is not None:
                    expiry = min(expiry, int(longest))
                self.recorder.expiry_changed(session, expiry)
                is_recorded = True
        if session is not None and session.will is not None:
            is_recorded = True
            # [MQTT5-3.1.2-10] 0x04 requests the will, and an error code does not discard it
            if packet.reason_code == NORMAL:
                self.recorder.will_cleared(session, WillClearReason.DISCONNECT)  # [MQTT-3.14.4-3]
        if is_recorded:
            # The client concludes from the close that its will is gone and its session has the
            # requested expiry, so this must be on disk by then.
            self.output.close_after_commit(connection)
        else:
            self.output.close(connection)
        self._leave(connection, CloseReason.DISCONNECT, now)
        return None

    def end(
        self,
        connection: Connection,
        reason: CloseReason,
        now: float,
        violation: Violation | None = None,
    ) -> None:
        """End a connection for a reason, with its will and, if it is clean, its session."""
        if not connection.is_open:
            return
        if (
            connection.version == 5
            and connection.state is ConnectionState.CONNECTED
            and reason is not CloseReason.NETWORK
        ):
            self._say_why(connection, reason, violation)
        self.output.close(connection)
        self._leave(connection, reason, now)

    def _say_why(
        self, connection: Connection, reason: CloseReason, violation: Violation | None
    ) -> None:
        """Send DISCONNECT with a reason code to an MQTT 5.0 client [MQTT5-3.14.0-1]."""
        if not connection.greeted:
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
        self.output.push(connection, frame)

    def _leave(self, connection: Connection, reason: CloseReason, now: float) -> None:
        session = connection.session
        self.forget(connection)
        if session is None or session.connection is not connection:
            return
        session.connection = None
        owner = session.owner
        if owner is not None:
            owner.connections -= 1
        session.away_since = now
        session.unsent.clear()
        self.backpressure.left(session, now)
        self.statistics.left(session, reason)
        if self.flapping.enabled and reason not in NO_FLAPPING:
            self.flapping.left(session.client_id, connection.address, now)
        self.recorder.session_closed(session, reason, self.time.time_ms)
        if not session.expiry_seconds:
            # The session ends with its connection, so its will is not delayed [MQTT5-3.1.2-23].
            self.end_session(
                session, EndReason.EXPIRED if session.persistent else EndReason.CLEAN_SESSION, now
            )
            return
        if session.will is not None:
            self.schedule_will(session, now)
        self.schedule_expiry(session, now)
        if owner is not None and not session.ended and session.is_unused():
            owner.unused[session] = None

    def forget(self, connection: Connection) -> None:
        """Release a connection that is being closed, and everything it keeps in memory."""
        if connection.is_open:
            connection.state = ConnectionState.CLOSED
            connection.let_go()
            self.timers.forget_connection(connection)
            self.silent.pop(connection, None)
            self.retained_replay.forget(connection)
            self.publisher.admission.incoming.forget(connection)
            self.statistics.connections_open -= 1
            if connection.share is not None:
                connection.share.connections_open -= 1

    # -- wills

    def schedule_will(self, session: Session, now: float) -> None:
        """Publish the will now, or schedule it after its delay (section 3.1.3.2.2)."""
        will = session.will
        if will is None or session.connection is not None:
            return
        due = session.away_since + will.delay_seconds
        if due <= now:
            self.publisher.publish_will(session, now)
        else:
            self.timers.add(due, Timer(TimerKind.WILL_DELAY, None, session))

    # -- sessions

    def end_session(self, session: Session, reason: EndReason, now: float) -> None:
        """End a session. Publish its will if it is still waiting."""
        if session.will is not None:
            self.publisher.publish_will(session, now)
        self.redistribution.begin(session, now)
        self.recorder.state.work.spent += FILTER_UNITS * len(session.subscriptions)
        self.recorder.session_ended(session, reason)
        self.timers.forget_session(session)
        self.permissions.forget(session)
        if session.persistent:
            self.ended.add(session.client_id)

    def end_is_pending(self, client_id: str) -> bool:
        """Return True if a power cut could still restore an ended session of this client."""
        return client_id in self.ended or client_id in self.ended_sealed

    def schedule_expiry(self, session: Session, now: float) -> None:
        """Schedule the end of a disconnected session after its expiry interval.

        One timer serves several periods of absence. Another one is added only if the interval was
        shortened and the timer would fire too late.
        """
        expiry = self._expiry_of(session)
        if expiry is None or session.ended or session.connection is not None:
            return
        due = max(now, session.away_since + expiry)
        if due < session.expiry_timer_due:
            session.expiry_timer_due = due
            self.timers.add(due, Timer(TimerKind.SESSION_EXPIRY, None, session))

    def longest_expiry_of(self, owner: Owner | None) -> float | None:
        """Return the maximum session expiry of a user in seconds; None: unlimited."""
        longest = self.limits.max_session_expiry_seconds
        own = None if owner is None else owner.quota.session_expiry_seconds
        if own is None or longest is None:
            return longest if own is None else own
        return min(own, longest)

    def _expiry_of(self, session: Session) -> float | None:
        longest = self.longest_expiry_of(session.owner)
        if session.expiry_seconds == EXPIRY_NEVER:
            return longest
        if longest is None:
            return float(session.expiry_seconds)
        return min(float(session.expiry_seconds), longest)

    def expire(self, session: Session, now: float) -> None:
        """End a session whose expiry timer fired, unless its client has returned since."""
        if now >= session.expiry_timer_due:
            session.expiry_timer_due = NO_TIMER
        expiry = self._expiry_of(session)
        if session.ended or session.connection is not None or expiry is None:
            return
        # Compared in the same way as the timer was set: a difference may be rounded down below the
        # interval.
        if now >= session.away_since + expiry:
            self.statistics.clients_expired += 1
            self.end_session(session, EndReason.EXPIRED, now)
        else:
            self.schedule_expiry(session, now)
