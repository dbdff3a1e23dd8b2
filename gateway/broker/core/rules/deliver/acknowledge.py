"""Acknowledgements from subscribers: PUBACK, PUBREC, PUBCOMP (sections 4.3.2, 4.3.3).

PUBREC is recorded before PUBREL is sent. The completion of a delivery is recorded with the next
batch, but the next queued message can already be sent before this batch is durable. A function that
processes a packet returns the client's protocol violation, or None.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.rules.deliver import deliver
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import STATE_NAMES, Delivery, DeliveryState
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.violation import Violation, protocol_violation
from gateway.broker.wire.codes import FIRST_ERROR, PACKET_ID_NOT_FOUND
from gateway.broker.wire.kinds import PUBREL

UNKNOWN_PACKET_ID: Final = "unknown_packet_id"
REFUSED: Final = "refused_by_receiver"


def receive_puback(core: Core, session: Session, packet_id: int, now: float) -> Violation | None:
    """Complete a QoS 1 delivery when its PUBACK arrives (section 4.3.2)."""
    delivery = session.outbound.get(packet_id)
    if delivery is None:
        core.statistics.count_error(UNKNOWN_PACKET_ID)
        return None
    if delivery.qos != 1:
        return protocol_violation(
            f"PUBACK {packet_id} for a QoS 2 message in state {STATE_NAMES[delivery.state]}"
        )
    if core.statistics.observe is not None:
        core.statistics.delivered(delivery)
    _forget_unsent(session, delivery)
    session.acknowledged_at = now
    core.recorder.delivery_completed(delivery)
    deliver.pump(core, session, now)
    return None


def _forget_unsent(session: Session, delivery: Delivery) -> None:
    """Remove an acknowledged message from the messages that still wait to be resent.

    A client can acknowledge such a message if it received the message on an earlier connection.
    """
    if session.unsent and delivery in session.unsent:
        session.unsent.remove(delivery)


def receive_pubrec(
    core: Core,
    session: Session,
    connection: Connection,
    packet_id: int,
    reason_code: int,
    now: float,
) -> Violation | None:
    """Record PUBREC, and respond with PUBREL (section 4.3.3)."""
    delivery = session.outbound.get(packet_id)
    if delivery is None:
        # For the broker, the exchange is complete. The reply lets the client complete it too.
        core.statistics.count_error(UNKNOWN_PACKET_ID)
        if reason_code < FIRST_ERROR:
            core.output.acknowledge_with(connection, PUBREL, packet_id, PACKET_ID_NOT_FOUND)
        return None
    if delivery.qos != 2:
        return protocol_violation(f"PUBREC {packet_id} for a QoS 1 message")
    _forget_unsent(session, delivery)
    if reason_code >= FIRST_ERROR:
        # The receiver refuses the message: the exchange is over (5.0 section 4.3.3).
        topic = None if delivery.message is None else delivery.message.topic
        core.statistics.drop(session, topic, REFUSED)
        session.acknowledged_at = now
        core.recorder.delivery_completed(delivery)
        deliver.pump(core, session, now)
        return None
    if delivery.state is DeliveryState.RECEIVED:
        core.output.acknowledge(connection, PUBREL, packet_id)
        return None
    core.recorder.delivery_received(delivery)
    delivery.sent_at = session.acknowledged_at = now
    core.output.acknowledge(connection, PUBREL, packet_id, session.persistent)
    return None


def receive_pubcomp(core: Core, session: Session, packet_id: int, now: float) -> Violation | None:
    """Complete a QoS 2 delivery when its PUBCOMP arrives (section 4.3.3)."""
    delivery = session.outbound.get(packet_id)
    if delivery is None:
        core.statistics.count_error(UNKNOWN_PACKET_ID)
        return None
    if delivery.state is not DeliveryState.RECEIVED:
        return protocol_violation(
            f"PUBCOMP {packet_id} while awaiting the acknowledgement of PUBLISH {packet_id}"
        )
    if core.statistics.observe is not None:
        core.statistics.delivered(delivery)
    session.acknowledged_at = now
    core.recorder.delivery_completed(delivery)
    deliver.pump(core, session, now)
    return None
