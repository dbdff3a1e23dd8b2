"""Accepts connecting clients: takeover, session and will (sections 3.1.4 and 3.2).

Each client identifier has at most one connection. A second CONNECT closes the first connection
immediately. Packets that were waiting to be sent on the first connection are never sent on the
second.
"""

from gateway.broker.core.bans import BANNED_REASON
from gateway.broker.core.core import Core
from gateway.broker.core.login_rates import LOGIN_RATE
from gateway.broker.core.permissions import CONNECT_REFUSED, WILL_REFUSED
from gateway.broker.core.records.kinds import CloseReason, EndReason, WillClearReason
from gateway.broker.core.rules.connect import disconnect, keep_alive, refuse, session_places
from gateway.broker.core.rules.connect.connack import connack_of
from gateway.broker.core.rules.deliver import backpressure, deliver
from gateway.broker.core.rules.publish import full_disk
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
from gateway.broker.wire.message_properties import forwarded_of
from gateway.broker.wire.packets import Connect
from gateway.broker.wire.values import topic_field_of


def admit(
    core: Core, connection: Connection, packet: Connect, data: bytes | None, now: float
) -> Violation | None:
    code, refusal = _refusal_of_access(core, connection, packet, now)
    if code:
        refuse.refuse(core, connection, code, refusal)
        return None
    before = core.state.sessions.get(packet.client_id) if packet.client_id else None
    if before is not None and _belongs_to_another(core, before, connection):
        refuse.refuse(core, connection, NOT_AUTHORIZED, "client_id_of_another_user")
        return None
    if before is None and full_disk.refuses(core, packet, connection.session_expiry_seconds):
        refuse.refuse(core, connection, QUOTA_EXCEEDED, full_disk.DISK_FULL)
        return None
    is_clean = not full_disk.is_persistent(packet, connection.session_expiry_seconds)
    code, limit = session_places.refusal_of(core, connection, before, now, is_clean)
    if code:
        refuse.refuse(core, connection, code, limit)
        return None
    if before is not None and before.connection is not None:
        # [MQTT-3.1.4-2], [MQTT5-3.1.4-3] the earlier connection is closed
        _take_over(core, before.connection, connection, packet.client_id, now)
        before = core.state.sessions.get(packet.client_id)
    if before is not None and packet.clean_start:
        # [MQTT-3.1.2-6], [MQTT5-3.1.4-4]
        disconnect.end_session(core, before, EndReason.CLEAN_START, now)
        before = None
    connection.state = ConnectionState.CONNECTED
    # Keep-alive starts here, because the client may be silent while its password is checked.
    connection.last_packet = now
    connection.connected_at = now
    _grant(core, connection, packet, now)
    session = _session_of(core, connection, packet, before, now)
    core.statistics.connected(session, connection, before is not None)
    connack = connack_of(core, session, connection, packet, before is not None, data)
    if not connection.accepts(connack):
        return too_large("CONNACK", len(connack), connection.maximum_packet_size_bytes)
    _set_will(core, session, packet)
    pending = disconnect.end_is_pending(core, session.client_id)
    if session.persistent or pending or session.will is not None:
        core.output.withhold(connection, connack)
    else:
        core.output.push(connection, connack)
        connection.connack_released = True
    _set_timers(core, session, connection, now)
    if before is not None:
        deliver.resume(core, session, now)
    return None


def _take_over(
    core: Core, displaced: Connection, connection: Connection, client_id: str, now: float
) -> None:
    disconnect.end(core, displaced, CloseReason.TAKEOVER, now)
    core.statistics.taken_over(client_id, displaced.address, connection.address, now)


def _refusal_of_access(
    core: Core, connection: Connection, packet: Connect, now: float
) -> tuple[int, str]:
    """Return the reason code for refusing a client, and the name of the reason.

    A client is refused if it is banned, exceeds a login rate, or is not allowed to connect or to
    publish its will. If the client is accepted, return 0 and an empty name. Unless the client is
    banned, its login counts towards the login rates.
    """
    if core.bans.is_banned(packet.client_id, connection.username):
        return BANNED, BANNED_REASON  # of a user authenticated by other means than a password
    limit = core.login_rates.take(session_places.owner_of(core, connection), now)
    if not limit and connection.share is not None and not connection.share.take_login(now):
        limit = connection.share.name_of(LOGIN_RATE)
    if limit:
        return CONNECTION_RATE_EXCEEDED, limit
    permissions = core.permissions
    if not permissions.restricted:
        return 0, ""
    if connection.username in permissions.removed_users:
        # The user has been authenticated, so the user exists (again).
        permissions.forbid(permissions.removed_users - {connection.username})
        core.state.tree.forget_all_routes()
    if permissions.refuses_connect(connection, packet.client_id):
        return NOT_AUTHORIZED, CONNECT_REFUSED
    will = packet.will
    if will is not None and permissions.refuses_will(
        connection, packet.client_id, will.topic, will.qos, will.retain
    ):
        return NOT_AUTHORIZED, WILL_REFUSED
    return 0, ""


def _belongs_to_another(core: Core, session: Session, connection: Connection) -> bool:
    """Return True if a session, including its queued messages, belongs to another user.

    A session without a user belongs to the clients without a user. A user who connects with the
    same client identifier cannot resume that session.
    """
    return core.authenticates and session.username != connection.username


def _grant(core: Core, connection: Connection, packet: Connect, now: float) -> None:
    """Set the keep-alive, the session expiry and the rate limits that apply to the client."""
    owner = session_places.owner_of(core, connection)
    user_meter = core.user_meters.meter_of(owner, now)
    if user_meter is not None:
        has_rates = user_meter.packet_rate or user_meter.byte_rate
        kept = [each for each in connection.meters if not (each.is_per_connection and has_rates)]
        connection.meters = (*kept, user_meter)
    connection.keep_alive_seconds = packet.keep_alive_seconds
    longest = core.limits.max_keep_alive_seconds
    if packet.protocol_level == 5 and not 0 < packet.keep_alive_seconds <= longest:
        # [MQTT5-3.1.2-21] the client must use the server keep alive
        connection.keep_alive_seconds = 0 if longest >= 65_535 else longest
    if packet.protocol_level < 5:
        connection.session_expiry_seconds = 0 if packet.clean_start else EXPIRY_NEVER
    longest_expiry = disconnect.longest_expiry_of(core, owner)
    if longest_expiry is not None:
        connection.session_expiry_seconds = min(
            connection.session_expiry_seconds, int(longest_expiry)
        )


def _session_of(
    core: Core, connection: Connection, packet: Connect, before: Session | None, now: float
) -> Session:
    if before is not None:
        session = before
        if session.will is not None:
            # [MQTT5-3.1.3-9] the client returned before its will was due
            core.recorder.will_cleared(session, WillClearReason.REPLACED)
        session.protocol = packet.protocol_level
        session.expiry_seconds = connection.session_expiry_seconds
        session.connection = connection
        if session.owner is not None:
            session.owner.connections += 1
            session.owner.unused.pop(session, None)
            session.owner.empty.pop(session, None)
            session.is_local = connection.is_local
            core.state.owners.moved(session)
        core.recorder.session_resumed(session, connection)
    else:
        number = core.state.next_session_number
        # [MQTT-3.1.3-6], [MQTT5-3.1.3-6] an empty client identifier gets a unique one
        client_id = packet.client_id or f"auto-{core.recorder.boot.hex()}-{number}"
        session = Session(number, client_id, connection.session_expiry_seconds > 0)
        session.protocol = packet.protocol_level
        session.expiry_seconds = connection.session_expiry_seconds
        session.connection = connection
        session.opened_since_start = True
        session.is_local = connection.is_local
        session.when_full = core.limits.policy_for(client_id)
        core.recorder.session_opened(session, connection)
    if core.authenticates and connection.username not in (None, session.username):
        assert connection.username is not None
        core.recorder.session_owned(session, connection.username)
    session.set_shares(connection.shares())
    backpressure.connected(core, session, now)
    _copy_rights(core, session, connection)
    connection.session = session
    return session


def _copy_rights(core: Core, session: Session, connection: Connection) -> None:
    """Copy the listener, groups and certificate of a connection to its session.

    These values determine the session's access rights.
    """
    if core.permissions.restricted and (
        session.listener != connection.listener
        or session.groups != connection.groups
        or session.is_revoked
    ):
        core.state.tree.forget_all_routes()  # it may affect what the session receives
        session.recheck_before = session.next_position
    session.listener = connection.listener
    session.groups = connection.groups
    session.certificate = connection.certificate
    session.is_revoked = False
    core.permissions.forget(session)
    if core.permissions.has_rules:
        core.state.tree.regroup(session)


def _set_will(core: Core, session: Session, packet: Connect) -> None:
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
    core.recorder.will_set(session, made)


def _set_timers(core: Core, session: Session, connection: Connection, now: float) -> None:
    if connection.keep_alive_seconds:
        keep_alive.check(core, connection, Timer(TimerKind.KEEP_ALIVE, connection, None), now)
    if core.limits.retry_interval_seconds is not None and connection.version < 5:
        # [MQTT5-4.4.0-1] MQTT 5.0 resends only after a reconnect
        due = now + core.limits.retry_interval_seconds
        core.timers.add(due, Timer(TimerKind.RETRY, connection, None))
    if core.limits.await_rel_timeout_seconds is not None and not session.await_rel_scheduled:
        session.await_rel_scheduled = True
        due = now + core.limits.await_rel_timeout_seconds
        core.timers.add(due, Timer(TimerKind.AWAIT_REL, None, session))
