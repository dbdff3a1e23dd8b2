"""Dispatch of packets to rules, by packet type and connection state (sections 3.1 to 3.15)."""

from typing import cast

from gateway.broker.core.core import Core
from gateway.broker.core.rules.acknowledge import AcknowledgementRules
from gateway.broker.core.rules.authenticate import AuthenticationRules
from gateway.broker.core.rules.connect import ConnectChecks
from gateway.broker.core.rules.disconnect import Disconnection
from gateway.broker.core.rules.full_disk import FullDisk
from gateway.broker.core.rules.full_queues import FullQueues
from gateway.broker.core.rules.publish import Publisher
from gateway.broker.core.rules.qos2_receive import Qos2Receive
from gateway.broker.core.rules.refuse import Refusal
from gateway.broker.core.rules.silent import Silent
from gateway.broker.core.rules.subscribe import SubscriptionRules
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


class Packets:
    """Passes each packet to the rule for its type."""

    def __init__(
        self,
        core: Core,
        refusing: Refusal,
        authenticating: AuthenticationRules,
        connecting: ConnectChecks,
        disconnecting: Disconnection,
        publisher: Publisher,
        qos2_receive: Qos2Receive,
        acknowledging: AcknowledgementRules,
        subscribing: SubscriptionRules,
        full_disk: FullDisk,
        full_queues: FullQueues,
    ) -> None:
        self.limits = core.limits
        self.statistics = core.statistics
        self.output = core.output
        self.refusing = refusing
        self.authenticating = authenticating
        self.connecting = connecting
        self.disconnecting = disconnecting
        self.publisher = publisher
        self.qos2_receive = qos2_receive
        self.acknowledging = acknowledging
        self.subscribing = subscribing
        self.full_disk = full_disk
        self.full_queues = full_queues
        self.silent = Silent(core, disconnecting)

    def receive(self, connection: Connection, packet: Packet, now: float) -> Violation | None:
        """Process one packet. Return a violation if it is not allowed in this state."""
        kind = packet.kind
        session = connection.session
        if session is None or kind == kinds.CONNECT:
            return self._receive_first(connection, packet, now)
        if kind == kinds.PUBLISH:
            limits = self.limits
            if (
                limits.disk_full
                or limits.queues_refuse
                or limits.queues_slow
                or connection.put_off.packets  # it keeps its place after them
            ):
                return self._publish_if_room(session, connection, cast(Publish, packet), now)
            return self.publisher.receive_publish(session, connection, cast(Publish, packet), now)
        self.statistics.packets_received[kind] += 1
        if kind == kinds.PUBREL:
            packet_id = cast(Pubrel, packet).packet_id
            self.qos2_receive.receive_pubrel(session, connection, packet_id, now)
            return None
        if kind == kinds.PUBACK:
            return self.acknowledging.receive_puback(session, cast(Puback, packet).packet_id, now)
        if kind == kinds.PUBREC:
            pubrec = cast(Pubrec, packet)
            return self.acknowledging.receive_pubrec(
                session, connection, pubrec.packet_id, pubrec.reason_code, now
            )
        if kind == kinds.PUBCOMP:
            return self.acknowledging.receive_pubcomp(session, cast(Pubcomp, packet).packet_id, now)
        return self._receive_rare(session, connection, packet, now)

    def _publish_if_room(
        self, session: Session, connection: Connection, packet: Publish, now: float
    ) -> Violation | None:
        # First check the packet and resolve its alias: this counts even if it is refused.
        violation = self.publisher.admission.violation_of(connection, packet)
        if violation is not None:
            return violation
        if self.limits.disk_full and self.full_disk.takes(session, connection, packet):
            return None
        if self.full_queues.takes(session, connection, packet, now):
            return None
        return self.publisher.receive_publish(session, connection, packet, now)

    def _receive_rare(
        self, session: Session, connection: Connection, packet: Packet, now: float
    ) -> Violation | None:
        kind = packet.kind
        if kind == kinds.PINGREQ:
            self.output.send_at_once(connection, PINGRESP)  # [MQTT-3.12.4-1]
        elif kind == kinds.SUBSCRIBE:
            wanted = cast(Subscribe, packet)
            return self.subscribing.receive_subscribe(session, connection, wanted, now)
        elif kind == kinds.UNSUBSCRIBE:
            unwanted = cast(Unsubscribe, packet)
            return self.subscribing.receive_unsubscribe(session, connection, unwanted)
        elif kind == kinds.DISCONNECT:
            return self.disconnecting.receive_disconnect(connection, cast(Disconnect, packet), now)
        elif kind == kinds.AUTH:
            return self.authenticating.receive_auth(connection, cast(Auth, packet))
        else:
            return protocol_violation(f"{kinds.KIND_NAMES[kind]} is not a packet a client sends")
        return None

    def _receive_first(
        self, connection: Connection, packet: Packet, now: float
    ) -> Violation | None:
        self.statistics.packets_received[packet.kind] += 1
        if connection.state is ConnectionState.AWAITING_AUTH and packet.kind == kinds.AUTH:
            return self.authenticating.receive_auth(connection, cast(Auth, packet))
        if connection.state is ConnectionState.AWAITING_AUTH and packet.kind == kinds.DISCONNECT:
            # [MQTT5-3.1.2-30]
            return self.disconnecting.receive_disconnect(connection, cast(Disconnect, packet), now)
        if packet.kind != kinds.CONNECT:
            # [MQTT-3.1.0-1]
            return protocol_violation(f"{kinds.KIND_NAMES[packet.kind]} before CONNECT")
        if connection.state is not ConnectionState.AWAITING_CONNECT:
            # [MQTT-3.1.0-2]
            return protocol_violation("a second CONNECT on one connection")
        self.silent.heard(connection)
        if not self._has_place(connection, now):
            self.connecting.take_terms(connection, cast(Connect, packet))
            self.refusing.refuse(connection, SERVER_UNAVAILABLE, "max_connections")
            return None
        return self.connecting.receive_connect(connection, cast(Connect, packet), now)

    def _has_place(self, connection: Connection, now: float) -> bool:
        """Return True if a client that sent CONNECT may stay.

        If needed, silent connections are closed.
        """
        while self.places_missing(connection) > 0:
            if not self.silent.give_way(connection, now, to_connect=True):
                return False
        return True

    def places_missing(self, connection: Connection) -> int:
        """Return by how many connections the limits that apply to this one are exceeded."""
        missing = self.statistics.connections_open - self.limits.max_connections
        share = connection.share
        if share is not None:
            missing = max(missing, share.connections_open - share.connections_max)
        return missing
