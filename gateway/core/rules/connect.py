"""CONNECT, authentication and takeover (sections 3.1 and 4.12): who is let in, and to what.

One client identifier has one connection: a second CONNECT closes the first at once, and what was
withheld for the first never reaches the second.
"""

from typing import Final

from gateway.core.core import Core
from gateway.core.limits import CLIENT_ID_BYTES_MAX, WILL_BYTES_FREE, WILLS_BYTES_MAX
from gateway.core.records.kinds import CloseReason, EndReason, WillClearReason
from gateway.core.rules.authenticate import AuthenticationAnswer, AuthenticationRequest
from gateway.core.rules.disconnect import Disconnecting
from gateway.core.rules.full_disk import DISK_FULL, FullDisk
from gateway.core.rules.permissions import CONNECT_REFUSED, WILL_REFUSED
from gateway.core.sessions.connection import Connection, ConnectionState
from gateway.core.sessions.message import Will
from gateway.core.sessions.session import EXPIRY_NEVER, Session
from gateway.core.timers import Timer, TimerKind
from gateway.core.topics.route import is_system_topic
from gateway.core.violation import (
    BAD_AUTHENTICATION_METHOD,
    BAD_USER_NAME_OR_PASSWORD,
    CLIENT_IDENTIFIER_NOT_VALID,
    CONTINUE_AUTHENTICATION,
    NOT_AUTHORIZED,
    QOS_NOT_SUPPORTED,
    QUOTA_EXCEEDED,
    REAUTHENTICATE,
    RETAIN_NOT_SUPPORTED,
    SERVER_BUSY,
    SERVER_UNAVAILABLE,
    TOPIC_NAME_INVALID,
    UNSUPPORTED_PROTOCOL_VERSION,
    Violation,
    protocol_violation,
    too_large,
)
from gateway.wire.encoder import encode
from gateway.wire.message_properties import forwarded_of
from gateway.wire.packets import Auth, Connack, Connect, Properties
from gateway.wire.packets import Will as WillOfConnect
from gateway.wire.topics import has_control_character
from gateway.wire.values import topic_field_of

RETURN_CODES: Final = {
    UNSUPPORTED_PROTOCOL_VERSION: 1,
    CLIENT_IDENTIFIER_NOT_VALID: 2,
    SERVER_UNAVAILABLE: 3,
    QUOTA_EXCEEDED: 3,
    BAD_USER_NAME_OR_PASSWORD: 4,
    NOT_AUTHORIZED: 5,
}
"""CONNACK return codes of MQTT 3.1.1 (section 3.2.2.3) for reason codes of 5.0."""

REFUSAL_REASONS: Final = {
    BAD_USER_NAME_OR_PASSWORD: "bad_user_name_or_password",
    SERVER_BUSY: "server_busy",
}
"""How what the authenticator refuses is counted; anything else is `not_authorized`."""

KEEP_ALIVE_FACTOR: Final = 1.5
"""[MQTT-3.1.2-24] silence of one and a half times the keep-alive ends the connection."""


class Connecting:
    """From CONNECT to a session."""

    def __init__(
        self,
        core: Core,
        disconnecting: Disconnecting,
        full_disk: FullDisk,
        authenticates: bool,
        methods: list[str],
    ) -> None:
        self.state = core.state
        self.recorder = core.recorder
        self.output = core.output
        self.disconnecting = disconnecting
        self.deliverer = disconnecting.deliverer
        self.full_disk = full_disk
        self.limits = core.limits
        self.permissions = core.permissions
        self.statistics = core.statistics
        self.timers = core.timers
        self.authenticates = authenticates
        """There are passwords to check user names against."""
        self.methods = methods
        """Methods of enhanced authentication that the shell knows."""
        self.effects = core.effects

    # -- CONNECT

    def receive_connect(
        self, connection: Connection, packet: Connect, now: float
    ) -> Violation | None:
        """Check a CONNECT in the order of section 3.1.4, then let the client in."""
        self.take_terms(connection, packet)
        properties = packet.properties
        if packet.protocol_level not in self.limits.protocol_versions:
            self.refuse(connection, UNSUPPORTED_PROTOCOL_VERSION, "protocol_versions")
            return None
        if not packet.client_id and (
            not self.limits.allow_zero_length_clientid
            or packet.protocol_level == 3
            or (packet.protocol_level == 4 and not packet.clean_start)
        ):
            # [MQTT-3.1.3-8]; MQTT 3.1 knows no empty client identifier at all
            self.refuse(connection, CLIENT_IDENTIFIER_NOT_VALID, "client_id_empty")
            return None
        if len(packet.client_id) * 4 > CLIENT_ID_BYTES_MAX and (
            len(packet.client_id.encode()) > CLIENT_ID_BYTES_MAX
        ):
            self.refuse(connection, CLIENT_IDENTIFIER_NOT_VALID, "client_id_too_long")
            return None
        refusal = self._refusal_of_names(packet)
        if refusal:
            self.refuse(connection, refusal, "control_character")
            return None
        if packet.will is not None:
            code, reason = self._refusal_of_will(packet.will)
            if code:
                self.refuse(connection, code, reason)
                return None
        if connection.authentication_method is not None:
            self._begin_enhanced(connection, packet, properties)
        elif packet.username is None:
            if connection.anonymous:
                return self._admit(connection, packet, None, now)
            self.refuse(connection, NOT_AUTHORIZED, "not_authorized")
        elif self.authenticates or not connection.anonymous:
            connection.state = ConnectionState.AUTHENTICATING
            connection.connect = packet
            self.effects.logins.append(
                AuthenticationRequest(
                    connection, packet.username, packet.password or b"", None, b"", True
                )
            )
        else:
            return self._admit(connection, packet, None, now)
        return None

    def _refusal_of_names(self, packet: Connect) -> int:
        """Return the reason code for a control character in a name, 0 if there is none.

        What was opened before such names were refused, or while they were allowed, goes on.
        """
        if self.limits.allow_control_characters:
            return 0
        if packet.will is not None and has_control_character(packet.will.topic):
            return TOPIC_NAME_INVALID
        if packet.client_id in self.state.sessions:
            return 0
        if has_control_character(packet.client_id):
            return CLIENT_IDENTIFIER_NOT_VALID
        if packet.username is not None and has_control_character(packet.username):
            return BAD_USER_NAME_OR_PASSWORD
        return 0

    def _refusal_of_will(self, will: WillOfConnect) -> tuple[int, str]:
        """Return the reason code that a will is refused with, and its name; 0 if it is not."""
        limits = self.limits
        if will.topic.count("/") >= limits.max_topic_levels:
            return TOPIC_NAME_INVALID, "max_topic_levels"
        if will.qos > limits.maximum_qos:
            return QOS_NOT_SUPPORTED, "maximum_qos"  # [MQTT5-3.2.2-12]
        if will.retain and not limits.retain_available:
            return RETAIN_NOT_SUPPORTED, "retain_available"  # [MQTT5-3.2.2-13]
        if len(will.payload) > limits.message_size_limit_bytes:
            return QUOTA_EXCEEDED, "message_size_limit"
        if not self._has_room_for(will):
            return QUOTA_EXCEEDED, "wills_bytes"
        if is_system_topic(will.topic):
            return NOT_AUTHORIZED, "system_topic"
        return 0, ""

    def _has_room_for(self, will: WillOfConnect) -> bool:
        size_bytes = 4 * len(will.topic) + len(will.payload)
        return size_bytes <= WILL_BYTES_FREE or (
            self.state.wills_bytes + size_bytes <= WILLS_BYTES_MAX
        )

    def take_terms(self, connection: Connection, packet: Connect) -> None:
        """Take note of how the client wants to be spoken to: refusals keep to it as well."""
        connection.version = packet.protocol_level
        connection.username = packet.username
        if packet.properties is not None:
            self._take_properties(connection, packet.properties)

    def _take_properties(self, connection: Connection, properties: Properties) -> None:
        if properties.receive_maximum is not None:
            connection.receive_maximum = properties.receive_maximum
        if properties.maximum_packet_size_bytes is not None:
            connection.maximum_packet_size_bytes = properties.maximum_packet_size_bytes
        if properties.topic_alias_maximum is not None:
            connection.topic_alias_maximum = min(
                properties.topic_alias_maximum, self.limits.max_topic_alias
            )
        if properties.request_problem_information is False:
            connection.wants_problem_information = False
        if properties.session_expiry_interval_seconds is not None:
            connection.session_expiry_seconds = properties.session_expiry_interval_seconds
        connection.authentication_method = properties.authentication_method

    # -- enhanced authentication (5.0 section 4.12)

    def _begin_enhanced(
        self, connection: Connection, packet: Connect, properties: Properties | None
    ) -> None:
        if connection.authentication_method not in self.methods:
            # [MQTT5-4.12.0-1]
            self.refuse(connection, BAD_AUTHENTICATION_METHOD, "bad_authentication_method")
            return
        connection.connect = packet
        data = None if properties is None else properties.authentication_data
        self._ask(connection, data or b"", True)

    def _ask(self, connection: Connection, data: bytes, is_first: bool) -> None:
        if connection.state is not ConnectionState.CONNECTED:
            connection.state = ConnectionState.AUTHENTICATING
        connection.checking = True
        self.effects.logins.append(
            AuthenticationRequest(
                connection, "", b"", connection.authentication_method, data, is_first
            )
        )

    def receive_auth(self, connection: Connection, packet: Auth) -> Violation | None:
        """AUTH continues an exchange, or begins re-authentication."""
        properties = packet.properties
        method = None if properties is None else properties.authentication_method
        if connection.authentication_method is None or method != connection.authentication_method:
            # [MQTT5-4.12.0-5], [MQTT5-4.12.0-6]
            return protocol_violation(
                f"AUTH with method {method!r}, expected {connection.authentication_method!r}"
            )
        is_first = packet.reason_code == REAUTHENTICATE
        if connection.checking or is_first != (
            connection.state is ConnectionState.CONNECTED and not connection.reauthenticating
        ):
            return protocol_violation(f"AUTH with reason code {packet.reason_code} out of turn")
        if is_first:
            connection.reauthenticating = True
        data = None if properties is None else properties.authentication_data
        self._ask(connection, data or b"", is_first)
        return None

    def authenticated(
        self, connection: Connection, answer: AuthenticationAnswer, now: float
    ) -> Violation | None:
        """The shell has an answer to an AuthenticationRequest."""
        connection.checking = False
        if connection.state is ConnectionState.CONNECTED:
            return self._reauthenticated(connection, answer)
        packet = connection.connect
        if connection.state is not ConnectionState.AUTHENTICATING or packet is None:
            return None
        if answer.reason_code == CONTINUE_AUTHENTICATION:
            connection.state = ConnectionState.AWAITING_AUTH
            return self._send_auth(connection, CONTINUE_AUTHENTICATION, answer.data)
        if answer.reason_code:
            reason = REFUSAL_REASONS.get(answer.reason_code, "not_authorized")
            self.refuse(connection, answer.reason_code, reason, answer.detail)
            return None
        connection.connect = None
        connection.username = answer.username
        return self._admit(connection, packet, answer.data, now)

    def _reauthenticated(
        self, connection: Connection, answer: AuthenticationAnswer
    ) -> Violation | None:
        if answer.reason_code == CONTINUE_AUTHENTICATION:
            return self._send_auth(connection, CONTINUE_AUTHENTICATION, answer.data)
        connection.reauthenticating = False
        if answer.reason_code:
            # [MQTT5-4.12.1-2]; DISCONNECT knows no 0x86 (5.0 table 3-10)
            code = SERVER_BUSY if answer.reason_code == SERVER_BUSY else NOT_AUTHORIZED
            reason = REFUSAL_REASONS.get(answer.reason_code, "not_authorized")
            return Violation(reason, code, answer.detail or "re-authentication failed")
        if answer.username != connection.username:
            return Violation("not_authorized", NOT_AUTHORIZED, "re-authentication as another user")
        return self._send_auth(connection, 0, answer.data)

    def _send_auth(
        self, connection: Connection, reason_code: int, data: bytes | None
    ) -> Violation | None:
        properties = Properties()
        properties.authentication_method = connection.authentication_method
        properties.authentication_data = data
        auth = encode(Auth(reason_code, properties), 5)
        if 0 < connection.maximum_packet_size_bytes < len(auth):
            return too_large("AUTH", len(auth), connection.maximum_packet_size_bytes)
        if connection.state is ConnectionState.CONNECTED:
            self.output.send_at_once(connection, auth)
        else:
            self.output.push(connection, auth)
        return None

    # -- the answer

    def refuse(
        self, connection: Connection, reason_code: int, reason: str, detail: str = ""
    ) -> None:
        """Answer CONNACK with a code other than 0 and close [MQTT-3.2.2-5], [MQTT5-3.2.2-7]."""
        self.statistics.count_error(reason)
        why = f"{reason}: {detail}" if detail else reason
        self.statistics.note(f"connection from {connection.address} refused: {why}")
        self.statistics.connections_refused += 1
        version = connection.version if connection.version in (3, 4, 5) else 4
        code = reason_code if version == 5 else RETURN_CODES.get(reason_code, 5)
        # [MQTT-3.2.2-4], [MQTT5-3.2.2-6] session present is 0 with every refusal
        connack = encode(Connack(False, code), version)
        if not 0 < connection.maximum_packet_size_bytes < len(connack):
            # [MQTT5-3.1.2-24] what is too large is not sent, and the close is the answer
            self.output.push(connection, connack)
        self.output.close(connection)
        self.disconnecting.forget(connection)

    def _admit(
        self, connection: Connection, packet: Connect, data: bytes | None, now: float
    ) -> Violation | None:
        refusal = self._refusal_of_access(connection, packet)
        if refusal:
            self.refuse(connection, NOT_AUTHORIZED, refusal)
            return None
        before = self.state.sessions.get(packet.client_id) if packet.client_id else None
        if before is None and len(self.state.sessions) >= self.limits.max_sessions:
            self.refuse(connection, SERVER_UNAVAILABLE, "max_sessions")
            return None
        if (
            before is None
            and self.limits.disk_full
            and self.full_disk.refuses(packet, connection.session_expiry_seconds)
        ):
            self.refuse(connection, QUOTA_EXCEEDED, DISK_FULL)
            return None
        if before is not None and self._belongs_to_another(before, connection):
            self.refuse(connection, NOT_AUTHORIZED, "client_id_of_another_user")
            return None
        if before is not None and before.connection is not None:
            # [MQTT-3.1.4-2], [MQTT5-3.1.4-3] the client that was connected is disconnected
            self.disconnecting.end(before.connection, CloseReason.TAKEOVER, now)
            before = self.state.sessions.get(packet.client_id)
        if before is not None and packet.clean_start:
            # [MQTT-3.1.2-6], [MQTT5-3.1.4-4]
            self.disconnecting.end_session(before, EndReason.CLEAN_START, now)
            before = None
        connection.state = ConnectionState.CONNECTED
        # Keep-alive counts from here: the time a password check took is not the client's silence.
        connection.last_received = now
        connection.connected_at = now
        self._grant(connection, packet)
        session = self._session_of(connection, packet, before)
        self.statistics.connected(session, connection, before is not None)
        connack = self._connack(session, connection, packet, before is not None, data)
        if 0 < connection.maximum_packet_size_bytes < len(connack):
            return too_large("CONNACK", len(connack), connection.maximum_packet_size_bytes)
        self._set_will(session, packet)
        pending = self.disconnecting.end_is_pending(session.client_id)
        if session.durable or pending or session.will is not None:
            self.output.withhold(connection, connack)
        else:
            self.output.push(connection, connack)
            connection.greeted = True
        self._set_timers(session, connection, now)
        if before is not None:
            self.deliverer.resume(session, now)
        return None

    def _refusal_of_access(self, connection: Connection, packet: Connect) -> str:
        """Return how it is counted that rules forbid a client or its will, or nothing."""
        permissions = self.permissions
        if not permissions.restricted:
            return ""
        if permissions.refuses_connect(connection, packet.client_id):
            return CONNECT_REFUSED
        will = packet.will
        if will is not None and permissions.refuses_will(connection, packet.client_id, will.topic):
            return WILL_REFUSED
        return ""

    def _belongs_to_another(self, session: Session, connection: Connection) -> bool:
        """Return whether a session, and the messages that wait in it, are another user's.

        One that has no owner yet, because there were no users when it was opened, goes to the
        first who names it while its client is away.
        """
        if not self.authenticates or session.username == connection.username:
            return False
        return session.username is not None or session.connection is not None

    def _grant(self, connection: Connection, packet: Connect) -> None:
        """Set what the client gets of what it asked for: keep-alive and session expiry."""
        connection.keep_alive_seconds = packet.keep_alive_seconds
        longest = self.limits.max_keep_alive_seconds
        if packet.protocol_level == 5 and not 0 < packet.keep_alive_seconds <= longest:
            # [MQTT5-3.1.2-21] the client has to use the server keep alive
            connection.keep_alive_seconds = 0 if longest >= 65_535 else longest
        if packet.protocol_level < 5:
            connection.session_expiry_seconds = 0 if packet.clean_start else EXPIRY_NEVER
        longest_expiry = self.limits.max_session_expiry_seconds
        if longest_expiry is not None:
            connection.session_expiry_seconds = min(
                connection.session_expiry_seconds, int(longest_expiry)
            )

    def _session_of(
        self, connection: Connection, packet: Connect, before: Session | None
    ) -> Session:
        if before is not None:
            session = before
            if session.will is not None:
                # [MQTT5-3.1.3-9] the client is back before its will was due
                self.recorder.will_cleared(session, WillClearReason.REPLACED)
            session.protocol = packet.protocol_level
            session.expiry_seconds = connection.session_expiry_seconds
            session.connection = connection
            self.recorder.session_resumed(session, connection)
        else:
            number = self.state.next_session_number
            # [MQTT-3.1.3-6], [MQTT5-3.1.3-6] an empty client identifier gets a unique one
            client_id = packet.client_id or f"auto-{self.recorder.boot.hex()}-{number}"
            session = Session(number, client_id, connection.session_expiry_seconds > 0)
            session.protocol = packet.protocol_level
            session.expiry_seconds = connection.session_expiry_seconds
            session.connection = connection
            self.recorder.session_opened(session, connection)
        if self.authenticates and connection.username not in (None, session.username):
            assert connection.username is not None
            self.recorder.session_owned(session, connection.username)
            if self.permissions.restricted:
                self.state.tree.forget_all_routes()
        if self.permissions.restricted and session.listener != connection.listener:
            self.state.tree.forget_all_routes()  # what it may receive may depend on it
        session.listener = connection.listener
        connection.session = session
        return session

    def _set_will(self, session: Session, packet: Connect) -> None:
        will = packet.will
        if will is None:
            return
        made = Will(will.topic, topic_field_of(will.topic), will.payload, will.qos, will.retain)
        properties = will.properties
        if properties is not None:
            made.delay_seconds = properties.will_delay_interval_seconds or 0
            if properties.message_expiry_interval_seconds is not None:
                made.expiry_seconds = properties.message_expiry_interval_seconds
            made.forwarded = forwarded_of(properties)
        self.recorder.will_set(session, made)

    def _connack(
        self,
        session: Session,
        connection: Connection,
        packet: Connect,
        present: bool,
        data: bytes | None,
    ) -> bytes:
        if connection.version < 5:
            # [MQTT-3.2.2-2], [MQTT-3.2.2-3]; MQTT 3.1 has no such flag
            return encode(Connack(present and connection.version > 3, 0), connection.version)
        properties = Properties()
        asked = 0
        if packet.properties is not None:
            asked = packet.properties.session_expiry_interval_seconds or 0
        if session.expiry_seconds != asked:
            properties.session_expiry_interval_seconds = session.expiry_seconds
        connection.receive_maximum_granted = self.limits.max_awaiting_rel
        if self.limits.max_awaiting_rel < 65_535:
            properties.receive_maximum = self.limits.max_awaiting_rel
        if self.limits.maximum_qos < 2:
            properties.maximum_qos = self.limits.maximum_qos  # [MQTT5-3.2.2-9]
        if not self.limits.retain_available:
            properties.retain_available = False
        properties.maximum_packet_size_bytes = self.limits.max_packet_size_bytes
        if self.limits.max_topic_alias:
            properties.topic_alias_maximum = self.limits.max_topic_alias
        if not packet.client_id:
            properties.assigned_client_identifier = session.client_id  # [MQTT5-3.2.2-16]
        if connection.keep_alive_seconds != packet.keep_alive_seconds:
            properties.server_keep_alive_seconds = connection.keep_alive_seconds
        properties.authentication_method = connection.authentication_method
        properties.authentication_data = data
        return encode(Connack(present, 0, properties), 5)

    def _set_timers(self, session: Session, connection: Connection, now: float) -> None:
        if connection.keep_alive_seconds:
            self.watch_keep_alive(connection, Timer(TimerKind.KEEP_ALIVE, connection, None), now)
        if self.limits.retry_interval_seconds is not None and connection.version < 5:
            # [MQTT5-4.4.0-1] in 5.0 nothing is resent but on reconnect
            due = now + self.limits.retry_interval_seconds
            self.timers.add(due, Timer(TimerKind.RETRY, connection, None))
        if self.limits.await_rel_timeout_seconds is not None and not session.await_rel_scheduled:
            session.await_rel_scheduled = True
            due = now + self.limits.await_rel_timeout_seconds
            self.timers.add(due, Timer(TimerKind.AWAIT_REL, None, session))

    def watch_keep_alive(self, connection: Connection, timer: Timer, now: float) -> bool:
        """Return whether the client still counts as alive, and look again later if so."""
        silence_seconds = connection.keep_alive_seconds * KEEP_ALIVE_FACTOR
        due = connection.last_received + silence_seconds
        if not connection.heard:
            due = now + silence_seconds
        if due <= now:
            return False
        self.timers.add(due, timer)
        return True
