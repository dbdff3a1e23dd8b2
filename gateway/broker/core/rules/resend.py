"""Resending of unacknowledged packets (section 4.4): PUBREL, or PUBLISH with DUP.

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


class Resender:
    """Resends packets to a client that reconnects; before MQTT 5.0 also after `retry_interval`."""

    def __init__(self, core: Core) -> None:
        self.recorder = core.recorder
        self.frames = core.frames
        self.output = core.output
        self.limits = core.limits
        self.statistics = core.statistics

    def resend_all(self, session: Session, connection: Connection, now: float) -> None:
        """Resend everything in flight. What exceeds the client's window waits in `unsent`."""
        session.unsent.clear()
        window = connection.window_of(self.limits)
        in_flight = session.outbound.values()
        sent = 0
        # PUBRELs first, in the order of the PUBRECs: they need no room in the receive maximum of
        # the new connection, but make some.
        for delivery in in_flight:
            if delivery.state is DeliveryState.RECEIVED:
                self._resend(session, connection, delivery, now)
                sent += 1
        for delivery in in_flight:
            if delivery.state is DeliveryState.RECEIVED:
                continue
            if sent < window:
                self._resend(session, connection, delivery, now)
                sent += 1
            else:
                session.unsent.append(delivery)

    def send_unsent(
        self, session: Session, connection: Connection, window: int, now: float
    ) -> None:
        """Resend packets that did not fit into the window of this connection before."""
        while session.unsent and len(session.outbound) - len(session.unsent) < window:
            self._resend(session, connection, session.unsent.popleft(), now)

    def _resend(
        self, session: Session, connection: Connection, delivery: Delivery, now: float
    ) -> None:
        delivery.sent_at = now
        self.statistics.resent += 1
        if delivery.state is DeliveryState.RECEIVED:
            self.recorder.delivery_resent(delivery, True)
            self.output.acknowledge(connection, PUBREL, delivery.packet_id)
            return
        message = delivery.message
        if message is None:
            return  # still on disk: `page_loaded` resends it
        leaves_with = NO_ALIAS
        if connection.topic_alias_maximum:
            leaves_with = self.output.leaves_with(connection, False)
        # [MQTT-3.3.1-1]
        frame = self.frames.delivery(connection, delivery, message, True, leaves_with)
        if not connection.takes(frame):
            # Dropped as if it had been delivered [MQTT5-3.1.2-25].
            self.statistics.drop(session, message.topic, DropReason.TOO_LARGE.word)
            self.recorder.message_dropped(session, message.number, DropReason.TOO_LARGE)
            self.recorder.delivery_completed(delivery)
            return
        self.recorder.delivery_resent(delivery, False)
        self.statistics.publishes_resent += 1
        self.statistics.publish_bytes_sent += len(message.payload)
        self.output.send(connection, frame)

    def retry(self, session: Session, interval_seconds: float, now: float) -> None:
        """Resend what has been in flight for `retry_interval` (MQTT 3.1 section 4.2)."""
        connection = session.connection
        if connection is None or session.loading or not connection.writable:
            return
        for delivery in session.outbound.values():
            if now - delivery.sent_at >= interval_seconds:
                self._resend(session, connection, delivery, now)
