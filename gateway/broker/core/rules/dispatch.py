"""Dispatch of packets to rules, by packet type and connection state (sections 3.1 to 3.15).

    ================  =======================  ==================  ==================  ==========
    state             CONNECT                  AUTH                DISCONNECT          others
    ================  =======================  ==================  ==================  ==========
    AWAITING_CONNECT  `connect`                violation           violation           violation
    AUTHENTICATING    all packets wait in `Connection.unprocessed` until the authenticator answers
    AWAITING_AUTH     violation                `authenticate`      `disconnect`        violation
    CONNECTED         violation                `authenticate`      `disconnect`        their rule
    ================  =======================  ==================  ==================  ==========

After `connect`, the state becomes CONNECTED, either directly or through AUTHENTICATING. After
`authenticate` in the state CONNECTED (re-authentication), the state is CONNECTED again. After a
violation, a refusal or DISCONNECT, the state is CLOSED.
"""

from typing import cast

from gateway.broker.core.core import Core
from gateway.broker.core.rules import full_queues
from gateway.broker.core.rules.connect import authenticate, connect, disconnect, refuse, silent
from gateway.broker.core.rules.deliver import acknowledge
from gateway.broker.core.rules.publish import admission, full_disk, publish, qos2_receive
from gateway.broker.core.rules.subscribe import subscribe
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.violation import Violation, protocol_violation
from gateway.broker.wire import kinds
from gateway.broker.wire.codes import SERVER_UNAVAILABLE
from gateway.broker.wire.encoder import PINGRESP
from gateway.broker.wire.packets import (
    Auth,
    Connect,
    Disconnect,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Unsubscribe,
)


def receive(core: Core, connection: Connection, packet: Packet, now: float) -> Violation | None:
    """Process a packet. Return the violation for which the connection must be closed, or None."""
    kind = packet.kind
    session = connection.session
    if session is None or kind == kinds.CONNECT:
        return _receive_first(core, connection, packet, now)
    if kind == kinds.PUBLISH:
        received = cast(Publish, packet)
        limits = core.limits
        if (
            received.properties is not None
            or received.retain
            or received.qos > limits.maximum_qos
            or len(received.topic) >= limits.max_topic_levels
        ):
            # Only for packets that can fail a check, to save the call for all others. Before the
            # packet may be deferred, because its topic alias counts even then.
            violation = admission.violation_of(core, connection, received)
            if violation is not None:
                return violation
        if (
            limits.disk_full
            or limits.queues_refuse
            or limits.queues_slow
            or connection.deferred.packets  # later packets wait for the deferred ones
        ) and _is_blocked(core, session, connection, received, now):
            return None
        return publish.receive_publish(core, session, connection, received, now)
    core.statistics.packets_received[kind] += 1
    if kind == kinds.PUBREL:
        packet_id = cast(Pubrel, packet).packet_id
        qos2_receive.receive_pubrel(core, session, connection, packet_id, now)
        return None
    if kind == kinds.PUBACK:
        return acknowledge.receive_puback(core, session, cast(Puback, packet).packet_id, now)
    if kind == kinds.PUBREC:
        pubrec = cast(Pubrec, packet)
        return acknowledge.receive_pubrec(
            core, session, connection, pubrec.packet_id, pubrec.reason_code, now
        )
    if kind == kinds.PUBCOMP:
        return acknowledge.receive_pubcomp(core, session, cast(Pubcomp, packet).packet_id, now)
    return _receive_other(core, session, connection, packet, now)


def _is_blocked(
    core: Core, session: Session, connection: Connection, packet: Publish, now: float
) -> bool:
    """Refuse, drop or defer a PUBLISH if the disk or a queue is full.

    Return True if the PUBLISH was refused, dropped or deferred.
    """
    if core.limits.disk_full and full_disk.refused_or_deferred(core, session, connection, packet):
        return True
    return full_queues.refused_or_deferred(core, session, connection, packet, now)


def _receive_other(
    core: Core, session: Session, connection: Connection, packet: Packet, now: float
) -> Violation | None:
    kind = packet.kind
    if kind == kinds.PINGREQ:
        core.output.send_immediately(connection, PINGRESP)  # [MQTT-3.12.4-1]
    elif kind == kinds.SUBSCRIBE:
        requested = cast(Subscribe, packet)
        return subscribe.receive_subscribe(core, session, connection, requested, now)
    elif kind == kinds.UNSUBSCRIBE:
        unsubscribe_packet = cast(Unsubscribe, packet)
        return subscribe.receive_unsubscribe(core, session, connection, unsubscribe_packet)
    elif kind == kinds.DISCONNECT:
        return disconnect.receive_disconnect(core, connection, cast(Disconnect, packet), now)
    elif kind == kinds.AUTH:
        return authenticate.receive_auth(core, connection, cast(Auth, packet))
    else:
        return protocol_violation(f"{kinds.KIND_NAMES[kind]} is not a packet a client sends")
    return None


def _receive_first(
    core: Core, connection: Connection, packet: Packet, now: float
) -> Violation | None:
    core.statistics.packets_received[packet.kind] += 1
    if connection.state is ConnectionState.AWAITING_AUTH and packet.kind == kinds.AUTH:
        return authenticate.receive_auth(core, connection, cast(Auth, packet))
    if connection.state is ConnectionState.AWAITING_AUTH and packet.kind == kinds.DISCONNECT:
        # [MQTT5-3.1.2-30]
        return disconnect.receive_disconnect(core, connection, cast(Disconnect, packet), now)
    if packet.kind != kinds.CONNECT:
        # [MQTT-3.1.0-1]
        return protocol_violation(f"{kinds.KIND_NAMES[packet.kind]} before CONNECT")
    if connection.state is not ConnectionState.AWAITING_CONNECT:
        # [MQTT-3.1.0-2]
        return protocol_violation("a second CONNECT on one connection")
    silent.remove(core, connection)
    if not _has_place(core, connection, now):
        connect.set_terms(core, connection, cast(Connect, packet))
        refuse.refuse(core, connection, SERVER_UNAVAILABLE, "max_connections")
        return None
    return connect.receive_connect(core, connection, cast(Connect, packet), now)


def _has_place(core: Core, connection: Connection, now: float) -> bool:
    """Return True if a client that has sent CONNECT is within the limits on connections.

    If necessary, silent connections are closed to make room.
    """
    while connections_above_limit(core, connection) > 0:
        if not silent.close_oldest(core, connection, now, to_connect=True):
            return False
    return True


def connections_above_limit(core: Core, connection: Connection) -> int:
    """Return the number of open connections beyond the total limit or the listener's limit.

    If both limits are exceeded, return the larger number. If neither is exceeded, return zero or a
    negative number.
    """
    missing = core.statistics.connections_open - core.limits.max_connections
    share = connection.share
    if share is not None:
        missing = max(missing, share.connections_open - share.connections_max)
    return missing
