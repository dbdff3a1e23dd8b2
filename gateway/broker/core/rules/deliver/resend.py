"""Resends unacknowledged packets (section 4.4): PUBREL, or PUBLISH with DUP.

Messages are resent in the order in which they were first sent [MQTT-4.6.0-1], with their original
packet identifiers.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.frames import NO_ALIAS
from gateway.broker.core.records.kinds import DropReason
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery, DeliveryState
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.kinds import PUBREL


def resend_all(core: Core, session: Session, connection: Connection, now: float) -> None:
    """Resend the PUBRELs and messages that were not acknowledged.

    Messages that would exceed the limit on messages in flight are stored in `session.unsent`.
    """
    session.unsent.clear()
    window = connection.window_of(core.limits)
    in_flight = session.outbound.values()
    sent = 0
    # PUBRELs first, in the order of the PUBRECs. They need no room in the receive maximum of the
    # new connection, and their completion makes room.
    for delivery in in_flight:
        if delivery.state is DeliveryState.RECEIVED:
            _resend(core, session, connection, delivery, now)
            sent += 1
    for delivery in in_flight:
        if delivery.state is DeliveryState.RECEIVED:
            continue
        if sent < window:
            _resend(core, session, connection, delivery, now)
            sent += 1
        else:
            session.unsent.append(delivery)


def send_unsent(
    core: Core, session: Session, connection: Connection, window: int, now: float
) -> None:
    """Resend the messages in `session.unsent`, until `window` messages are in flight."""
    while session.unsent and len(session.outbound) - len(session.unsent) < window:
        _resend(core, session, connection, session.unsent.popleft(), now)


def _resend(
    core: Core, session: Session, connection: Connection, delivery: Delivery, now: float
) -> None:
    delivery.sent_at = now
    core.statistics.resent += 1
    if delivery.state is DeliveryState.RECEIVED:
        core.recorder.delivery_resent(delivery, True)
        core.output.acknowledge(connection, PUBREL, delivery.packet_id)
        return
    message = delivery.message
    if message is None:
        return  # still on disk: `page_loaded` resends it
    release_batch = NO_ALIAS
    if connection.topic_alias_maximum:
        release_batch = core.output.release_batch(connection, False)
    # [MQTT-3.3.1-1]
    frame = core.frames.delivery(connection, delivery, message, True, release_batch)
    if not connection.accepts(frame):
        # Dropped as if it had been delivered [MQTT5-3.1.2-25].
        core.statistics.drop(session, message.topic, DropReason.TOO_LARGE.word)
        core.recorder.message_dropped(session, message.number, DropReason.TOO_LARGE)
        core.recorder.delivery_completed(delivery)
        return
    core.recorder.delivery_resent(delivery, False)
    core.statistics.publishes_resent += 1
    core.statistics.publish_bytes_sent += len(message.payload)
    core.output.send(connection, frame)


def retry(core: Core, session: Session, interval_seconds: float, now: float) -> None:
    """Resend a session's packets that have been unacknowledged for `interval_seconds` or longer.

    Used only for clients with MQTT 3.1 (section 4.2) or 3.1.1, if `retry_interval` is configured.
    With MQTT 5.0, packets are resent only after a reconnect.
    """
    connection = session.connection
    if connection is None or session.loading or not connection.writable:
        return
    for delivery in session.outbound.values():
        if now - delivery.sent_at >= interval_seconds:
            _resend(core, session, connection, delivery, now)
