"""CONNECT, takeover and every end of a connection (sections 3.1 and 3.14).

One client identifier has one connection: a second CONNECT closes the first at once, and what was
withheld for the first never reaches the second. However a connection ends, its will is published,
unless a DISCONNECT came.
"""

from typing import Final

from gateway.core.delivering import Deliverer
from gateway.core.facts import CLOSE_REASONS, END_REASONS, WILL_CLEAR_REASONS
from gateway.core.limits import CLIENT_ID_BYTES_MAX, Limits
from gateway.core.output import Output
from gateway.core.publishing import Publisher
from gateway.core.recorder import Recorder
from gateway.core.session import (
    AUTHENTICATING,
    CLOSED,
    CONNECTED,
    Connection,
    Session,
    Will,
)
from gateway.core.state import State
from gateway.core.statistics import Statistics
from gateway.core.timers import AWAIT_REL, KEEP_ALIVE, RETRY, SESSION_EXPIRY, Timer, Timers
from gateway.wire.encoder import encode
from gateway.wire.packets import Connack, Connect
from gateway.wire.values import topic_field_of

# CONNACK return codes of MQTT 3.1.1 (section 3.2.2.3)
ACCEPTED: Final = 0
UNACCEPTABLE_PROTOCOL: Final = 1
IDENTIFIER_REJECTED: Final = 2
SERVER_UNAVAILABLE: Final = 3
BAD_USER_NAME_OR_PASSWORD: Final = 4
NOT_AUTHORIZED: Final = 5

TAKEOVER: Final = CLOSE_REASONS.index("takeover")
DISCONNECTED: Final = CLOSE_REASONS.index("disconnect")
RESTART: Final = CLOSE_REASONS.index("restart")
CLEAN_START: Final = END_REASONS.index("clean_start")
CLEAN_SESSION: Final = END_REASONS.index("clean_session")
EXPIRED: Final = END_REASONS.index("expired")
WILL_DISCONNECTED: Final = WILL_CLEAR_REASONS.index("disconnect")
KEEP_ALIVE_FACTOR: Final = 1.5
"""[MQTT-3.1.2-24] silence of one and a half times the keep-alive ends the connection."""

TIMER_STEP_SECONDS_MAX: Final = 60.0
"""A keep-alive timer looks again at least this often, so that it never outlives its connection by
more: a client that reconnects every second must not leave a heap of timers behind."""


class AuthenticationRequest:
    """A user name and password that the shell has to check."""

    def __init__(self, connection: Connection, username: str, password: bytes) -> None:
        self.connection = connection
        self.username = username
        self.password = password


class Connecting:
    """From CONNECT to the end of the connection."""

    def __init__(
        self,
        state: State,
        recorder: Recorder,
        output: Output,
        deliverer: Deliverer,
        publisher: Publisher,
        limits: Limits,
        statistics: Statistics,
        timers: Timers,
        authenticates: bool,
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.output = output
        self.deliverer = deliverer
        self.publisher = publisher
        self.limits = limits
        self.statistics = statistics
        self.timers = timers
        self.authenticates = authenticates
        """There are passwords to check user names against."""
        self.authentication_requests: list[AuthenticationRequest] = []
        self.waiting_connects: dict[Connection, Connect] = {}
        self.time_ms = 0
        """Wall clock in milliseconds, set by the shell once a turn."""

    # -- CONNECT

    def receive_connect(self, connection: Connection, packet: Connect, now: float) -> None:
        """Check a CONNECT in the order of section 3.1.4, then let the client in."""
        connection.version = packet.protocol_level
        if packet.protocol_level > 4:
            self.refuse(connection, UNACCEPTABLE_PROTOCOL, "unsupported_protocol", now)
            return
        if not packet.client_id and (packet.protocol_level == 3 or not packet.clean_start):
            # [MQTT-3.1.3-8]; MQTT 3.1 knows no empty client identifier at all
            self.refuse(connection, IDENTIFIER_REJECTED, "client_id_empty", now)
            return
        if len(packet.client_id) * 4 > CLIENT_ID_BYTES_MAX and (
            len(packet.client_id.encode()) > CLIENT_ID_BYTES_MAX
        ):
            self.refuse(connection, IDENTIFIER_REJECTED, "client_id_too_long", now)
            return
        if packet.will is not None and (
            packet.will.topic.count("/") >= self.limits.max_topic_levels
        ):
            self.refuse(connection, NOT_AUTHORIZED, "max_topic_levels", now)
            return
        if packet.username is None:
            if not connection.anonymous:
                self.refuse(connection, NOT_AUTHORIZED, "not_authorized", now)
                return
        elif self.authenticates or not connection.anonymous:
            connection.state = AUTHENTICATING
            self.waiting_connects[connection] = packet
            self.authentication_requests.append(
                AuthenticationRequest(connection, packet.username, packet.password or b"")
            )
            return
        self._admit(connection, packet, now)

    def authenticated(self, connection: Connection, accepted: bool, now: float) -> None:
        """The shell has checked the password."""
        packet = self.waiting_connects.pop(connection, None)
        if packet is None or connection.state != AUTHENTICATING:
            return
        if accepted:
            self._admit(connection, packet, now)
        else:
            self.refuse(connection, BAD_USER_NAME_OR_PASSWORD, "bad_user_name_or_password", now)

    def refuse(self, connection: Connection, code: int, reason: str, now: float) -> None:
        """Answer CONNACK with a return code other than 0 and close [MQTT-3.2.2-5]."""
        self.statistics.count_error(reason)
        self.statistics.note(f"connection from {connection.address} refused: {reason}")
        self.statistics.connections_refused += 1
        version = connection.version if connection.version in (3, 4) else 4
        # [MQTT-3.2.2-4] session present is 0 with every refusal
        self.output.push(connection, encode(Connack(False, code), version))
        self.output.close(connection)
        self._forget(connection)

    def _admit(self, connection: Connection, packet: Connect, now: float) -> None:
        before = self.state.sessions.get(packet.client_id) if packet.client_id else None
        if before is None and len(self.state.sessions) >= self.limits.max_sessions:
            self.refuse(connection, SERVER_UNAVAILABLE, "max_sessions", now)
            return
        if before is not None and before.connection is not None:
            # [MQTT-3.1.4-2] the client that was connected is disconnected
            self.end(before.connection, TAKEOVER, now)
            before = self.state.sessions.get(packet.client_id)
        discarded = False
        if before is not None and packet.clean_start:
            self.recorder.session_ended(before, CLEAN_START)  # [MQTT-3.1.2-6]
            discarded = True
            before = None
        connection.state = CONNECTED
        # Keep-alive counts from here: the time a password check took is not the client's silence.
        connection.last_received = now
        connection.keep_alive_seconds = packet.keep_alive_seconds
        connection.connected_ms = self.time_ms
        session = self._session_of(connection, packet, before)
        self._set_will(session, packet)
        # [MQTT-3.2.2-2] and [MQTT-3.2.2-3]; MQTT 3.1 has no such flag
        present = before is not None and connection.version > 3
        connack = encode(Connack(present, ACCEPTED), connection.version)
        if session.durable or discarded or session.will is not None:
            self.output.withhold(connection, connack)
        else:
            self.output.push(connection, connack)
            connection.greeted = True
        self._set_timers(session, connection, now)
        if before is not None:
            self.deliverer.resume(session, now)

    def _session_of(
        self, connection: Connection, packet: Connect, before: Session | None
    ) -> Session:
        if before is not None:
            session = before
            session.protocol = packet.protocol_level
            session.connection = connection
            self.recorder.session_resumed(session, connection)
        else:
            number = self.state.next_session_number
            # [MQTT-3.1.3-6] an empty client identifier gets a unique one
            client_id = packet.client_id or f"auto-{self.recorder.boot.hex()}-{number}"
            session = Session(number, client_id, not packet.clean_start)
            session.protocol = packet.protocol_level
            session.connection = connection
            self.recorder.session_opened(session, connection)
        connection.session = session
        return session

    def _set_will(self, session: Session, packet: Connect) -> None:
        if packet.will is not None:
            will = packet.will
            self.recorder.will_set(
                session,
                Will(will.topic, topic_field_of(will.topic), will.payload, will.qos, will.retain),
            )

    def _set_timers(self, session: Session, connection: Connection, now: float) -> None:
        if connection.keep_alive_seconds:
            self.watch_keep_alive(connection, Timer(KEEP_ALIVE, connection, None), now)
        if self.limits.retry_interval_seconds is not None:
            due = now + self.limits.retry_interval_seconds
            self.timers.add(due, Timer(RETRY, connection, None))
        if self.limits.await_rel_timeout_seconds is not None and not session.await_rel_scheduled:
            session.await_rel_scheduled = True
            due = now + self.limits.await_rel_timeout_seconds
            self.timers.add(due, Timer(AWAIT_REL, None, session))

    def watch_keep_alive(self, connection: Connection, timer: Timer, now: float) -> bool:
        """Return whether the client still counts as alive, and look again later if so."""
        silence_seconds = connection.keep_alive_seconds * KEEP_ALIVE_FACTOR
        due = connection.last_received + silence_seconds
        if not connection.heard:
            due = now + silence_seconds
        if due <= now:
            return False
        self.timers.add(min(due, now + TIMER_STEP_SECONDS_MAX), timer)
        return True

    # -- the end

    def receive_disconnect(self, connection: Connection, now: float) -> None:
        """DISCONNECT discards the will [MQTT-3.14.4-3] and ends the connection."""
        session = connection.session
        if session is None or session.will is None:
            self.output.close(connection)
        else:
            # The close tells the client that its will is gone: that has to be true by then.
            self.recorder.will_cleared(session, WILL_DISCONNECTED)
            self.output.close_after_commit(connection)
        self._leave(connection, DISCONNECTED, now)

    def end(self, connection: Connection, reason: int, now: float) -> None:
        """End a connection for a reason of CLOSE_REASONS: its will, its clean session, itself."""
        if connection.state != CLOSED:
            self.output.close(connection)
            self._leave(connection, reason, now)

    def _leave(self, connection: Connection, reason: int, now: float) -> None:
        session = connection.session
        self._forget(connection)
        if session is None or session.connection is not connection:
            return
        session.connection = None
        session.away_since = now
        self.recorder.session_closed(session, reason, self.time_ms)
        if session.will is not None:
            self.publisher.publish_will(session, now)
        if not session.durable:
            self.recorder.session_ended(session, CLEAN_SESSION)
        else:
            self.schedule_expiry(session, now)

    def schedule_expiry(self, session: Session, now: float) -> None:
        """Let a durable session without a connection end after `max_session_expiry`."""
        expiry = self.limits.max_session_expiry_seconds
        if expiry is not None and not session.expiry_scheduled:
            session.expiry_scheduled = True
            due = max(now, session.away_since + expiry)
            self.timers.add(due, Timer(SESSION_EXPIRY, None, session))

    def expire(self, session: Session, now: float) -> None:
        """An expiry timer came up: end the session unless its client came back since."""
        expiry = self.limits.max_session_expiry_seconds
        session.expiry_scheduled = False
        if session.ended or session.connection is not None or expiry is None:
            return
        if now - session.away_since >= expiry:
            self.recorder.session_ended(session, EXPIRED)
        else:
            self.schedule_expiry(session, now)

    def _forget(self, connection: Connection) -> None:
        self.waiting_connects.pop(connection, None)
        if connection.state != CLOSED:
            connection.state = CLOSED
            self.statistics.connections_open -= 1
