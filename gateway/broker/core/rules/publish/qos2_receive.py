"""Receives messages at QoS 2 (section 4.3.3): PUBLISH stores one, and PUBREL distributes it.

The packet identifier and the message are durable before PUBREC is sent. This is method B of figure
4.3, in which the message itself is stored. The release of a message and all resulting queue entries
are committed in one batch.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.limits import HELD_BYTES_FREE, HELD_BYTES_MAX
from gateway.broker.core.permissions import PUBLISH_REFUSED
from gateway.broker.core.records.kinds import DropReason, Observation
from gateway.broker.core.rules.deliver import fan_out
from gateway.broker.core.rules.publish import admission
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Held, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.topics.route import is_system_topic
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import NO_MATCHING_SUBSCRIBERS, PACKET_ID_NOT_FOUND, QUOTA_EXCEEDED
from gateway.broker.wire.kinds import PUBCOMP, PUBREC
from gateway.broker.wire.packets import Publish


def receive_publish(
    core: Core, session: Session, connection: Connection, packet: Publish, now: float
) -> Violation | None:
    """Hold a message until PUBREL, and acknowledge it with PUBREC."""
    packet_id = packet.packet_id
    held = session.inbound.get(packet_id)
    if held is not None:
        # A repeat before PUBREL is acknowledged but never delivered [MQTT-4.3.3-2].
        core.statistics.duplicates_suppressed += 1
        core.recorder.duplicate_suppressed(held)
        core.output.acknowledge(connection, PUBREC, packet_id)
        return None
    violation = admission.quota_violation_of(connection)
    if violation is not None:
        return violation
    limit = _limit_reached(core, session, packet)
    if limit and connection.version < 5:
        # Clients older than MQTT 5.0 cannot be informed that a single message is refused.
        detail = _describe_held(session)
        core.recorder.observed(session, Observation.LIMIT_HIT, limit, detail)
        return Violation(limit, QUOTA_EXCEEDED, f"PUBLISH {packet_id} beyond {limit}: {detail}")
    refusal = QUOTA_EXCEEDED if limit else 0
    if limit:
        _note_refused(core, session, limit)
    else:
        refusal = admission.refusal_of(core, connection, packet, is_system_topic(packet.topic))
    if refusal:
        # A PUBREC with an error ends the exchange, so nothing is held.
        core.output.acknowledge_with(connection, PUBREC, packet_id, refusal)
        return None
    _hold(core, session, connection, packet, now)
    return None


def _limit_reached(core: Core, session: Session, packet: Publish) -> str:
    """Return the name of the limit that another held QoS 2 message would exceed, or ""."""
    if len(session.inbound) >= core.limits.max_awaiting_rel:
        return "max_awaiting_rel"
    total = session.inbound_bytes + len(packet.topic_field) + len(packet.payload)
    if session.inbound and total > core.limits.max_awaiting_rel_bytes:
        return "max_awaiting_rel_bytes"
    if total > HELD_BYTES_FREE:
        added_bytes = total - session.inbound_bytes
        if core.state.held_bytes + added_bytes > HELD_BYTES_MAX:
            return "held_bytes"
        owner = session.owner
        if owner is not None and owner.held_bytes + added_bytes > owner.quota.held_bytes:
            return owner.name_of("awaiting_rel_bytes")
    return ""


def _describe_held(session: Session) -> str:
    return f"{len(session.inbound)} messages ({session.inbound_bytes} bytes) await PUBREL"


def _note_refused(core: Core, session: Session, limit: str) -> None:
    core.statistics.count_error(limit)
    core.statistics.publishes_refused += 1
    detail = _describe_held(session)
    core.statistics.note(
        f"client {session.client_id!r}: QoS 2 message refused: {limit} reached: {detail}",
        session.client_id,
    )
    core.recorder.observed(session, Observation.LIMIT_HIT, limit, detail)


def _hold(
    core: Core, session: Session, connection: Connection, packet: Publish, now: float
) -> None:
    session.received_messages += 1
    core.statistics.received_qos2 += 1
    core.statistics.publish_bytes_received += len(packet.payload)
    connection.receiving += 1
    is_retained = packet.retain and packet.payload != b""
    limit = admission.retained_limit_of(core, connection, packet) if is_retained else ""
    message = admission.message_of(core, packet)
    if is_retained:
        # If there is no room, the publisher uses 3.1 or 3.1.1, because a message from a 5.0 client
        # would have been refused. The limits are then checked again at its release.
        message.owner = session.owner
        message.has_place = not limit
    held = Held(session, packet.packet_id, message, now)
    core.recorder.message_held(held)
    if connection.version == 5 and not core.state.tree.route_of(packet.topic).count():
        core.output.acknowledge_with(
            connection, PUBREC, packet.packet_id, NO_MATCHING_SUBSCRIBERS, session.persistent
        )
    else:
        core.output.acknowledge(connection, PUBREC, packet.packet_id, session.persistent)


def receive_pubrel(
    core: Core, session: Session, connection: Connection, packet_id: int, now: float
) -> None:
    """Distribute a held message, and send PUBCOMP even if the packet identifier is unknown."""
    held = session.inbound.get(packet_id)
    if held is None:
        core.output.acknowledge_with(connection, PUBCOMP, packet_id, PACKET_ID_NOT_FOUND)
        return
    message = held.message
    is_refused = _is_refused_since(core, session, message)
    if core.statistics.observe is not None and not is_refused:
        core.statistics.published(session, message.topic, message.payload, 2, message.retain, False)
    route = core.state.tree.route_of(message.topic)
    is_expired = core.frames.is_expired(message)
    is_delivered = not (is_expired or is_refused)
    must_record = is_delivered and admission.must_record(core, session, message, route)
    recorded = session.persistent or must_record
    if session.persistent:
        message.batch = core.recorder.batch_number
    elif recorded:
        admission.record(core, session, message, route)
    if is_refused:
        core.recorder.message_abandoned(held)
    else:
        core.recorder.message_released(held, 0 if is_expired else route.matched())
    if recorded:
        connection.received += 1
    else:
        connection.receiving = max(0, connection.receiving - 1)
    core.output.acknowledge(connection, PUBCOMP, packet_id, recorded)
    if is_delivered:
        fan_out.distribute(core, session, route, message, now)
    elif is_refused:
        core.statistics.deny(PUBLISH_REFUSED, session, message.topic)
    else:
        # [MQTT5-3.3.2-5], [MQTT5-4.3.3-13] the exchange is completed nevertheless
        core.statistics.drop(None, message.topic, DropReason.EXPIRED.word)


def _is_refused_since(core: Core, session: Session, message: Message) -> bool:
    """Return True if the publisher of a held message is no longer allowed to publish it."""
    permissions = core.permissions
    return permissions.restricted and permissions.refuses_publish(
        session, message.topic, 2, message.retain
    )


def abandon(core: Core, held: Held) -> None:
    """Discard a held message after `await_rel_timeout`, to free its packet identifier."""
    core.statistics.abandoned += 1
    core.statistics.note(
        f"client {held.session.client_id!r}: no PUBREL {held.packet_id} within "
        f"await_rel_timeout: message {held.message.number} dropped"
    )
    core.statistics.drop(None, held.message.topic, "await_rel_timeout")
    core.recorder.message_abandoned(held)
