"""Acceptance of a client: takeover, session, will and CONNACK (sections 3.1.4 and 3.2).

Each client identifier has one connection. A second CONNECT closes the first connection immediately,
and packets withheld for the first are never sent to the second.
"""

from typing import Final

from gateway.broker.core.bans import BANNED_REASON
from gateway.broker.core.core import Core
from gateway.broker.core.limits import KEEP_ALIVE_PART_BYTES
from gateway.broker.core.login_rates import LOGIN_RATE
from gateway.broker.core.permissions import CONNECT_REFUSED, WILL_REFUSED
from gateway.broker.core.records.kinds import CloseReason, EndReason, WillClearReason
from gateway.broker.core.rules.disconnect import Disconnection
from gateway.broker.core.rules.full_disk import DISK_FULL, FullDisk
from gateway.broker.core.rules.refuse import Refusal
from gateway.broker.core.rules.session_places import SessionPlaces
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.message import Will
from gateway.broker.core.sessions.session import EXPIRY_NEVER, Session
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.violation import Violation, too_large
from gateway.broker.wire.codes import (
    BANNED,
    CONNECTION_RATE_EXCEEDED,
    NOT_AUTHORIZED,
    QUOTA_EXCEEDED,
)
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.message_properties import forwarded_of
from gateway.broker.wire.packets import Connack, Connect, Properties
from gateway.broker.wire.values import topic_field_of

KEEP_ALIVE_FACTOR: Final = 1.5
"""[MQTT-3.1.2-24] after one and a half keep-alives without a packet the connection is closed."""


class ClientAcceptance:
    """Accepts a client that may connect, and gives its connection a session."""

    def __init__(
        self, core: Core, refusing: Refusal, disconnecting: Disconnection, full_disk: FullDisk
    ) -> None:
        self.core = core
        self.state = core.state
        self.recorder = core.recorder
        self.output = core.output
        self.limits = core.limits
        self.permissions = core.permissions
        self.statistics = core.statistics
        self.timers = core.timers
        self.refusing = refusing
        self.disconnecting = disconnecting
        self.deliverer = disconnecting.deliverer
        self.backpressure = disconnecting.backpressure
        self.places = SessionPlaces(core, disconnecting)
        self.full_disk = full_disk

    def admit(
        self, connection: Connection, packet: Connect, data: bytes | None, now: float
    ) -> Violation | None:
        code, refusal = self._refusal_of_access(connection, packet, now)
        if code:
            self.refusing.refuse(connection, code, refusal)
            return None
        before = self.state.sessions.get(packet.client_id) if packet.client_id else None
        if before is not None and self._belongs_to_another(before, connection):
            self.refusing.refuse(connection, NOT_AUTHORIZED, "client_id_of_another_user")
            return None
        if before is None and self.full_disk.refuses(packet, connection.session_expiry_seconds):
            self.refusing.refuse(connection, QUOTA_EXCEEDED, DISK_FULL)
            return None
        is_clean = not self.full_disk.is_persistent(packet, connection.session_expiry_seconds)
        code, limit = self.places.refusal_of(connection, before, now, is_clean)
        if code:
            self.refusing.refuse(connection, code, limit)
            return None
        if before is not None and before.connection is not None:
            # [MQTT-3.1.4-2], [MQTT5-3.1.4-3] the earlier connection is closed
            self._take_over(before.connection, connection, packet.client_id, now)
            before = self.state.sessions.get(packet.client_id)
        if before is not None and packet.clean_start:
            # [MQTT-3.1.2-6], [MQTT5-3.1.4-4]
            self.disconnecting.end_session(before, EndReason.CLEAN_START, now)
            before = None
        connection.state = ConnectionState.CONNECTED
        # Keep-alive counts from here: the duration of the password check is not the client's
        # silence.
        connection.last_packet = now
        connection.connected_at = now
        self._grant(connection, packet, now)
        session = self._session_of(connection, packet, before, now)
        self.statistics.connected(session, connection, before is not None)
        connack = self._connack(session, connection, packet, before is not None, data)
        if not connection.takes(connack):
            return too_large("CONNACK", len(connack), connection.maximum_packet_size_bytes)
        self._set_will(session, packet)
        pending = self.disconnecting.end_is_pending(session.client_id)
        if session.persistent or pending or session.will is not None:
            self.output.withhold(connection, connack)
        else:
            self.output.push(connection, connack)
            connection.greeted = True
        self._set_timers(session, connection, now)
        if before is not None:
            self.deliverer.resume(session, now)
        return None

    def _take_over(
        self, displaced: Connection, connection: Connection, client_id: str, now: float
    ) -> None:
        self.disconnecting.end(displaced, CloseReason.TAKEOVER, now)
        self.statistics.taken_over(client_id, displaced.address, connection.address, now)

    def _refusal_of_access(
        self, connection: Connection, packet: Connect, now: float
    ) -> tuple[int, str]:
        """Return the reason code that refuses a login or its will, and its name; 0 if accepted."""
        if self.core.bans.is_banned(packet.client_id, connection.username):
            return BANNED, BANNED_REASON  # of a user authenticated by other means than a password
        limit = self.core.login_rates.take(self.places.owner_of(connection), now)
        if not limit and connection.share is not None and not connection.share.take_login(now):
            limit = connection.share.name_of(LOGIN_RATE)
        if limit:
            return CONNECTION_RATE_EXCEEDED, limit
        permissions = self.permissions
        if not permissions.restricted:
            return 0, ""
        if connection.username in permissions.gone:
            # The user is authenticated, so a source has it (again).
            permissions.forbid(permissions.gone - {connection.username})
            self.state.tree.forget_all_routes()
        if permissions.refuses_connect(connection, packet.client_id):
            return NOT_AUTHORIZED, CONNECT_REFUSED
        will = packet.will
        if will is not None and permissions.refuses_will(
            connection, packet.client_id, will.topic, will.qos, will.retain
        ):
            return NOT_AUTHORIZED, WILL_REFUSED
        return 0, ""

    def _belongs_to_another(self, session: Session, connection: Connection) -> bool:
        """Return True if a session, with its queued messages, belongs to another user.

        A session without a user belongs to clients without one, not to the first user who names it.
        """
        if not self.core.authenticates or (session.owner_is_unknown and session.connection is None):
            return False
        return session.username != connection.username

    def _grant(self, connection: Connection, packet: Connect, now: float) -> None:
        """Set the keep-alive and session expiry granted to the client, and its rates."""
        owner = self.places.owner_of(connection)
        of_user = self.core.user_meters.meter_of(owner, now)
        if of_user is not None:
            has_rates = of_user.packet_rate or of_user.byte_rate
            kept = [each for each in connection.meters if not (each.is_of_client and has_rates)]
            connection.meters = (*kept, of_user)
        connection.keep_alive_seconds = packet.keep_alive_seconds
        longest = self.limits.max_keep_alive_seconds
        if packet.protocol_level == 5 and not 0 < packet.keep_alive_seconds <= longest:
            # [MQTT5-3.1.2-21] the client must use the server keep alive
            connection.keep_alive_seconds = 0 if longest >= 65_535 else longest
        if packet.protocol_level < 5:
            connection.session_expiry_seconds = 0 if packet.clean_start else EXPIRY_NEVER
        longest_expiry = self.disconnecting.longest_expiry_of(owner)
        if longest_expiry is not None:
            connection.session_expiry_seconds = min(
                connection.session_expiry_seconds, int(longest_expiry)
            )

    def _session_of(
        self, connection: Connection, packet: Connect, before: Session | None, now: float
    ) -> Session:
        if before is not None:
            session = before
            if session.will is not None:
                # [MQTT5-3.1.3-9] the client returned before its will was due
                self.recorder.will_cleared(session, WillClearReason.REPLACED)
            session.protocol = packet.protocol_level
            session.expiry_seconds = connection.session_expiry_seconds
            session.connection = connection
            if session.owner is not None:
                session.owner.connections += 1
                session.owner.unused.pop(session, None)
                session.owner.empty.pop(session, None)
                session.is_local = connection.is_local
                self.state.owners.moved(session)
            self.recorder.session_resumed(session, connection)
        else:
            number = self.state.next_session_number
            # [MQTT-3.1.3-6], [MQTT5-3.1.3-6] an empty client identifier gets a unique one
            client_id = packet.client_id or f"auto-{self.recorder.boot.hex()}-{number}"
            session = Session(number, client_id, connection.session_expiry_seconds > 0)
            session.protocol = packet.protocol_level
            session.expiry_seconds = connection.session_expiry_seconds
            session.connection = connection
            session.is_of_this_run = True
            session.is_local = connection.is_local
            session.when_full = self.limits.when_full(client_id)
            self.recorder.session_opened(session, connection)
        if self.core.authenticates and connection.username not in (None, session.username):
            assert connection.username is not None
            self.recorder.session_owned(session, connection.username)
        session.count_at(connection.shares())
        self.backpressure.connected(session, now)
        self._take_rights(session, connection)
        connection.session = session
        return session

    def _take_rights(self, session: Session, connection: Connection) -> None:
        """Give the session the listener, groups and certificate of its connection."""
        if self.permissions.restricted and (
            session.listener != connection.listener
            or session.groups != connection.groups
            or session.is_revoked
        ):
            self.state.tree.forget_all_routes()  # it may affect what the session receives
            session.asked_again_before = session.next_position
        session.listener = connection.listener
        session.groups = connection.groups
        session.certificate = connection.certificate
        session.is_revoked = False
        self.permissions.forget(session)
        if self.permissions.has_rules:
            self.state.tree.regroup(session)

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
            # [MQTT5-4.4.0-1] MQTT 5.0 resends only after a reconnect
            due = now + self.limits.retry_interval_seconds
            self.timers.add(due, Timer(TimerKind.RETRY, connection, None))
        if self.limits.await_rel_timeout_seconds is not None and not session.await_rel_scheduled:
            session.await_rel_scheduled = True
            due = now + self.limits.await_rel_timeout_seconds
            self.timers.add(due, Timer(TimerKind.AWAIT_REL, None, session))

    def watch_keep_alive(self, connection: Connection, timer: Timer, now: float) -> bool:
        """Return True if the client still counts as alive. If so, schedule the next check."""
        silence_seconds = connection.keep_alive_seconds * KEEP_ALIVE_FACTOR
        due = connection.last_packet + silence_seconds
        if not connection.reading:
            due = now + silence_seconds
        if due <= now:
            since, seen_bytes = connection.part_seen
            part_bytes = connection.decoder.partial_bytes()
            new_bytes = part_bytes - seen_bytes if since == connection.last_packet else part_bytes
            if new_bytes < KEEP_ALIVE_PART_BYTES:
                return False
            connection.part_seen = (connection.last_packet, part_bytes)
            due = now + silence_seconds
        self.timers.add(due, timer)
        return True
