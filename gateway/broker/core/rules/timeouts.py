"""Actions of due timers: keep-alive, expiry, delays, retries."""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.limits import SLOW_READER_SECONDS
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.admit import ClientAcceptance
from gateway.broker.core.rules.disconnect import Disconnection
from gateway.broker.core.rules.full_queues import FullQueues
from gateway.broker.core.rules.qos2_receive import Qos2Receive
from gateway.broker.core.rules.refuse import Refusal
from gateway.broker.core.rules.resend import Resender
from gateway.broker.core.rules.retained import RetainedReplay
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import MAXIMUM_CONNECT_TIME, SERVER_BUSY

CONNECT_TIMEOUT: Final = "connect_timeout"
CREDENTIALS_EXPIRED: Final = "credentials_expired"

RECONNECT_SECONDS: Final = 5.0
"""Time after a pause of the process in which clients can reconnect whose session or will delay
ended meanwhile, because they could not do so before."""

OF_ABSENCE: Final = (TimerKind.WILL_DELAY, TimerKind.SESSION_EXPIRY)


class Timeouts:
    """Runs the action for each kind of timer."""

    def __init__(
        self,
        core: Core,
        admitting: ClientAcceptance,
        disconnecting: Disconnection,
        refusing: Refusal,
        resending: Resender,
        qos2_receive: Qos2Receive,
        retained_replay: RetainedReplay,
        full_queues: FullQueues,
    ) -> None:
        self.sessions = core.state.sessions
        self.limits = core.limits
        self.statistics = core.statistics
        self.timers = core.timers
        self.admitting = admitting
        self.disconnecting = disconnecting
        self.refusing = refusing
        self.resending = resending
        self.qos2_receive = qos2_receive
        self.retained_replay = retained_replay
        self.full_queues = full_queues
        self.backpressure = full_queues.backpressure

    def watch_slow_reader(self, connection: Connection, now: float) -> None:
        """Schedule the end of a connection whose peer does not read for SLOW_READER_SECONDS."""
        if not connection.slow_reader_scheduled and connection.is_open:
            connection.slow_reader_scheduled = True
            due = max(now, connection.unwritable_since + SLOW_READER_SECONDS)
            self.timers.add(due, Timer(TimerKind.SLOW_READER, connection, None))

    def begin_again(self, now: float) -> None:
        """Restart each client's timeouts, because nothing could be read from it until now."""
        for session in self.sessions.values():
            connection = session.connection
            if connection is not None:
                connection.last_packet = now
                connection.unwritable_since = now
        for timer in list(self.timers.heap):
            if timer.kind is TimerKind.CONNECT_TIMEOUT:
                self.timers.add(now + self.limits.connect_timeout_seconds, timer)
            elif timer.kind in OF_ABSENCE and timer.due <= now:
                self.timers.add(now + RECONNECT_SECONDS, timer)

    def connection_due(self, timer: Timer, connection: Connection, now: float) -> None:
        """Run the action of a connection's timer."""
        if timer.kind is TimerKind.RETAINED:
            self.retained_replay.resume(connection, now)
        elif timer.kind in (TimerKind.PUT_OFF, TimerKind.PACE):
            self._queue_due(timer, connection, now)
        elif timer.kind is TimerKind.CONNECT_TIMEOUT:
            self._end_before_connected(connection, now)
        elif timer.kind is TimerKind.KEEP_ALIVE:
            if not self.admitting.watch_keep_alive(connection, timer, now):
                self.statistics.count_error("keep_alive")
                self.disconnecting.end(connection, CloseReason.KEEP_ALIVE, now)
        elif timer.kind is TimerKind.SLOW_READER:
            connection.slow_reader_scheduled = False
            if connection.writable:
                return
            if now < connection.unwritable_since + SLOW_READER_SECONDS:
                self.watch_slow_reader(connection, now)
                return
            self.statistics.count_error("slow_reader")
            self.disconnecting.end(connection, CloseReason.SLOW, now)
        elif timer.kind is TimerKind.CREDENTIALS:
            self._end_for_credentials(connection, now)
        elif timer.kind is TimerKind.RETRY:
            interval = self.limits.retry_interval_seconds
            if interval is not None and connection.session is not None:
                self.resending.retry(connection.session, interval, now)
                self.timers.add(now + interval, timer)

    def _queue_due(self, timer: Timer, connection: Connection, now: float) -> None:
        session = connection.session
        if timer.kind is TimerKind.PUT_OFF:
            self.full_queues.retry(connection, now)
        elif session is not None:
            self.backpressure.judge(session, connection, now)

    def _end_before_connected(self, connection: Connection, now: float) -> None:
        """End a connection that was not accepted in time.

        If its login is still being checked, the client gets an answer first, since it may try
        again.
        """
        if connection.state is ConnectionState.AUTHENTICATING:
            detail = "its login was not checked in time"
            self.refusing.refuse(connection, SERVER_BUSY, CONNECT_TIMEOUT, detail)
        elif connection.state is not ConnectionState.CONNECTED:
            self.statistics.count_error(CONNECT_TIMEOUT)
            self.disconnecting.end(connection, CloseReason.KEEP_ALIVE, now)

    def _end_for_credentials(self, connection: Connection, now: float) -> None:
        """End a connection whose credentials have expired."""
        self.statistics.count_error(CREDENTIALS_EXPIRED)
        detail = "the token of its client has expired"
        violation = Violation(CREDENTIALS_EXPIRED, MAXIMUM_CONNECT_TIME, detail)
        self.disconnecting.end(connection, CloseReason.KICKED, now, violation)

    def session_due(self, timer: Timer, session: Session, now: float) -> None:
        """Run the action of a session's timer."""
        if timer.kind is TimerKind.SESSION_EXPIRY:
            self.disconnecting.expire(session, now)
        elif timer.kind is TimerKind.WILL_DELAY:
            self.disconnecting.schedule_will(session, now)
        elif timer.kind is TimerKind.AWAIT_REL:
            timeout = self.limits.await_rel_timeout_seconds
            session.await_rel_scheduled = False
            if timeout is None:
                return
            for held in session.inbound.values():
                if now - held.since >= timeout:
                    self.qos2_receive.abandon(held)
            if session.connection is not None or session.inbound:
                session.await_rel_scheduled = True
                self.timers.add(now + timeout, timer)
