"""Rules for PUBLISH packets from clients at QoS 0 and 1, and for publishing wills.

`admission` checks every PUBLISH, `qos2_receive` handles QoS 2, and `fan_out` delivers
messages of every QoS.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.limits import FORWARDED_BYTES_MAX
from gateway.broker.core.permissions import WILL_REFUSED
from gateway.broker.core.records.kinds import Origin, WillClearReason
from gateway.broker.core.rules.deliver import deliver, fan_out
from gateway.broker.core.rules.publish import admission, qos2_receive
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Message, Will
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.topics.route import Route
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import NO_MATCHING_SUBSCRIBERS
from gateway.broker.wire.kinds import PUBACK
from gateway.broker.wire.packets import Publish


def receive_publish(
    core: Core, session: Session, connection: Connection, packet: Publish, now: float
) -> Violation | None:
    """Process a PUBLISH according to its QoS, after `admission.violation_of` has checked it."""
    if packet.qos == 2:
        return qos2_receive.receive_publish(core, session, connection, packet, now)
    if packet.qos:
        violation = admission.quota_violation_of(connection)
        if violation is not None:
            return violation
    route = core.state.tree.route_of(packet.topic)
    refusal = 0
    if (
        connection.version == 5
        or route.is_system
        or len(packet.payload) > core.limits.message_size_limit_bytes
        or core.permissions.restricted
    ):
        refusal = admission.refusal_of(core, connection, packet, route.is_system)
    if refusal:
        if packet.qos:
            core.output.acknowledge_with(connection, PUBACK, packet.packet_id, refusal)
        return None
    session.received_messages += 1
    statistics = core.statistics
    statistics.publish_bytes_received += len(packet.payload)
    if statistics.observe is not None:
        statistics.published(
            session, packet.topic, packet.payload, packet.qos, packet.retain, False
        )
    if packet.qos == 0:
        statistics.received_qos0 += 1
        stores_qos0 = route.persistent and core.limits.mqueue_store_qos0
        if route.plain and not (packet.retain or route.logged or stores_qos0):
            _forward(core, route, connection.version, packet)
            return None
    message = admission.message_of(core, packet)
    recorded = admission.must_record(core, session, message, route)
    if recorded:
        admission.record(core, session, message, route)
    if packet.qos:
        _acknowledge(core, connection, packet.packet_id, route, recorded)
    fan_out.distribute(core, session, route, message, now)
    return None


def _acknowledge(
    core: Core, connection: Connection, packet_id: int, route: Route, recorded: bool
) -> None:
    core.statistics.received_qos1 += 1
    # PUBACK precedes the deliveries of the same batch. If a client subscribes to its own messages
    # and got PUBACK after them, its Nagle algorithm would wait for the PUBACK.
    if recorded:
        connection.receiving += 1
        connection.received += 1
    if connection.version == 5 and not route.count():
        core.output.acknowledge_with(
            connection, PUBACK, packet_id, NO_MATCHING_SUBSCRIBERS, recorded
        )
    else:
        core.output.acknowledge(connection, PUBACK, packet_id, recorded)


def _forward(core: Core, route: Route, version: int, packet: Publish) -> None:
    """Forward a QoS 0 PUBLISH to its subscribers.

    The packet is forwarded as received where possible. Otherwise it is encoded again.
    """
    frame = packet.frame
    output = core.output
    statistics = core.statistics
    is_5 = version == 5
    message: Message | None = None
    sent = 0
    core.state.work.spent += len(route.targets)
    for target in route.targets:
        session = target.session
        connection = session.connection
        if connection is None:
            continue
        if (
            connection.writable
            and connection.forwarded_bytes <= FORWARDED_BYTES_MAX
            and (connection.version == 5) == is_5
            and packet.properties is None
            and not connection.maximum_packet_size_bytes
            and not connection.topic_alias_maximum
        ):
            output.forward(connection, frame)
            session.delivered_messages += 1
            if statistics.observe is not None:
                statistics.delivered_at_qos0(session, packet.topic)
            sent += 1
        else:
            if message is None:
                message = admission.message_of(core, packet)
            deliver.deliver_qos0(core, session, message, 0, b"")
    statistics.sent_qos0 += sent
    statistics.publish_bytes_sent += sent * len(packet.payload)


def publish_will(core: Core, session: Session, now: float) -> None:
    """Publish the will of a connection that ended without DISCONNECT [MQTT-3.1.2-8]."""
    will = session.will
    if will is None:
        return
    permissions = core.permissions
    if permissions.restricted and permissions.refuses_publish(
        session, will.topic, will.qos, will.retain
    ):
        _drop_will(core, session, will)
        return
    number = core.state.next_message_number
    core.state.next_message_number = number + 1
    message = Message(
        number,
        will.topic,
        will.topic_field,
        will.payload,
        will.qos,
        will.retain,
        will.forwarded,
    )
    message.owner = session.owner
    if will.expiry_seconds >= 0:
        message.expires_ms = core.state.time.time_ms + will.expiry_seconds * 1000
    core.recorder.will_cleared(session, WillClearReason.PUBLISHED)
    core.statistics.published(session, will.topic, will.payload, will.qos, will.retain, True)
    route = core.state.tree.route_of(will.topic)
    core.recorder.message_published(session, message, Origin.WILL, route.matched())
    message.batch = core.recorder.batch_number
    fan_out.distribute(core, session, route, message, now)


def _drop_will(core: Core, session: Session, will: Will) -> None:
    """Discard and count a will that its client is no longer allowed to publish."""
    core.statistics.publishes_refused += 1
    core.statistics.deny(WILL_REFUSED, session, will.topic)
    core.recorder.will_cleared(session, WillClearReason.REFUSED)
