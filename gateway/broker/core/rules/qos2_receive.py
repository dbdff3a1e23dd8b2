"""Receiving at QoS 2 (section 4.3.3): a message is held at PUBLISH and forwarded at PUBREL.

The packet identifier and the message are durable before PUBREC is sent (method B of figure 4.3: the
message itself is stored). The release and all resulting queue entries are in one batch.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.limits import HELD_BYTES_FREE, HELD_BYTES_MAX
from gateway.broker.core.permissions import PUBLISH_REFUSED
from gateway.broker.core.records.kinds import DropReason, Observation
from gateway.broker.core.rules.admission import Admission
from gateway.broker.core.rules.fan_out import FanOut
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Held, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.topics.route import is_system_topic
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import NO_MATCHING_SUBSCRIBERS, PACKET_ID_NOT_FOUND, QUOTA_EXCEEDED
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.kinds import PUBCOMP, PUBREC
from gateway.broker.wire.packets import Pubcomp, Publish, Pubrec


class Qos2Receive:
    """Messages that were received and not released yet."""

    def __init__(self, core: Core, admission: Admission, fan_out: FanOut) -> None:
        self.state = core.state
        self.recorder = core.recorder
        self.output = core.output
        self.admission = admission
        self.frames = core.frames
        self.fan_out = fan_out
        self.limits = core.limits
        self.statistics = core.statistics
        self.permissions = core.permissions

    def receive_publish(
        self, session: Session, connection: Connection, packet: Publish, now: float
    ) -> Violation | None:
        """Hold a message and acknowledge it with PUBREC."""
        packet_id = packet.packet_id
        held = session.inbound.get(packet_id)
        if held is not None:
            # A repeat before PUBREL is acknowledged but never delivered [MQTT-4.3.3-2].
            self.statistics.duplicates_suppressed += 1
            self.recorder.duplicate_suppressed(held)
            self.output.acknowledge(connection, PUBREC, packet_id)
            return None
        violation = self.admission.quota_violation_of(connection)
        if violation is not None:
            return violation
        limit = self._limit_reached(session, packet)
        if limit and connection.version < 5:
            # A single message cannot be refused.
            detail = self._describe_held(session)
            self.recorder.observed(session, Observation.LIMIT_HIT, limit, detail)
            return Violation(limit, QUOTA_EXCEEDED, f"PUBLISH {packet_id} beyond {limit}: {detail}")
        refusal = QUOTA_EXCEEDED if limit else 0
        if limit:
            self._note_refused(session, limit)
        else:
            refusal = self.admission.refusal_of(connection, packet, is_system_topic(packet.topic))
        if refusal:
            # A PUBREC with an error ends the exchange, so nothing is held.
            answer = encode(Pubrec(packet_id, refusal), connection.version)
            self.output.send(connection, answer)
            return None
        self._hold(session, connection, packet, now)
        return None

    def _limit_reached(self, session: Session, packet: Publish) -> str:
        """Return the limit that another held message would exceed; empty if there is none."""
        if len(session.inbound) >= self.limits.max_awaiting_rel:
            return "max_awaiting_rel"
        total = session.inbound_bytes + len(packet.topic_field) + len(packet.payload)
        if session.inbound and total > self.limits.max_awaiting_rel_bytes:
            return "max_awaiting_rel_bytes"
        if total > HELD_BYTES_FREE:
            added_bytes = total - session.inbound_bytes
            if self.state.held_bytes + added_bytes > HELD_BYTES_MAX:
                return "held_bytes"
            owner = session.owner
            if owner is not None and owner.held_bytes + added_bytes > owner.quota.held_bytes:
                return owner.name_of("awaiting_rel_bytes")
        return ""

    @staticmethod
    def _describe_held(session: Session) -> str:
        return f"{len(session.inbound)} messages ({session.inbound_bytes} bytes) await PUBREL"

    def _note_refused(self, session: Session, limit: str) -> None:
        self.statistics.count_error(limit)
        self.statistics.publishes_refused += 1
        detail = self._describe_held(session)
        self.statistics.note(
            f"client {session.client_id!r}: QoS 2 message refused: {limit} reached: {detail}",
            session.client_id,
        )
        self.recorder.observed(session, Observation.LIMIT_HIT, limit, detail)

    def _hold(self, session: Session, connection: Connection, packet: Publish, now: float) -> None:
        session.received_messages += 1
        self.statistics.received_qos2 += 1
        self.statistics.publish_bytes_received += len(packet.payload)
        connection.receiving += 1
        message = self.admission.message_of(packet)
        if packet.retain and packet.payload:
            # If there is no room, the publisher speaks 3.1 or 3.1.1, or the message was refused;
            # then the room at its release counts.
            message.owner = session.owner
            message.has_place = not self.admission.retained_limit_reached(connection, packet)
        held = Held(session, packet.packet_id, message, now)
        self.recorder.message_held(held)
        if connection.version == 5 and not self.state.tree.route_of(packet.topic).count():
            answer = encode(Pubrec(packet.packet_id, NO_MATCHING_SUBSCRIBERS), 5)
            self.output.send(connection, answer, session.persistent)
        else:
            self.output.acknowledge(connection, PUBREC, packet.packet_id, session.persistent)

    def receive_pubrel(
        self, session: Session, connection: Connection, packet_id: int, now: float
    ) -> None:
        """Forward the message at PUBREL. An unknown identifier is answered with PUBCOMP too."""
        held = session.inbound.get(packet_id)
        if held is None:
            unknown = encode(Pubcomp(packet_id, PACKET_ID_NOT_FOUND), connection.version)
            self.output.send(connection, unknown)
            return
        message = held.message
        is_refused = self._is_refused_since(session, message)
        if self.statistics.observe is not None and not is_refused:
            self.statistics.published(
                session, message.topic, message.payload, 2, message.retain, False
            )
        route = self.state.tree.route_of(message.topic)
        is_expired = self.frames.is_expired(message)
        goes_out = not (is_expired or is_refused)
        must_record = goes_out and self.admission.must_record(session, message, route)
        recorded = session.persistent or must_record
        if session.persistent:
            message.batch = self.recorder.batch_number
        elif recorded:
            self.admission.record(session, message, route)
        if is_refused:
            self.recorder.message_abandoned(held)
        else:
            self.recorder.message_released(held, 0 if is_expired else route.matched())
        if recorded:
            connection.received += 1
        else:
            connection.receiving = max(0, connection.receiving - 1)
        self.output.acknowledge(connection, PUBCOMP, packet_id, recorded)
        if goes_out:
            self.fan_out.deliver(session, route, message, now)
        elif is_refused:
            self.statistics.deny(PUBLISH_REFUSED, session, message.topic)
        else:
            # [MQTT5-3.3.2-5], [MQTT5-4.3.3-13] the exchange is completed nevertheless
            self.statistics.drop(None, message.topic, DropReason.EXPIRED.word)

    def _is_refused_since(self, session: Session, message: Message) -> bool:
        """Return True if the access rules, which may have changed, now deny a held message."""
        permissions = self.permissions
        return permissions.restricted and permissions.refuses_publish(
            session, message.topic, 2, message.retain
        )

    def abandon(self, held: Held) -> None:
        """Discard a held message after `await_rel_timeout`, to free its packet identifier."""
        self.statistics.abandoned += 1
        self.statistics.note(
            f"client {held.session.client_id!r}: no PUBREL {held.packet_id} within "
            f"await_rel_timeout: message {held.message.number} dropped"
        )
        self.statistics.drop(None, held.message.topic, "await_rel_timeout")
        self.recorder.message_abandoned(held)
