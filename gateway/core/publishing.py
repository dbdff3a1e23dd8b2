"""From a publisher into the broker: QoS 0, 1 and 2, retained messages, wills, the fan-out.

A QoS 2 message is held, and the fact with its packet identifier and its contents is durable before
PUBREC; it is routed at PUBREL, where the release and every queue entry stand in one batch.
"""

from typing import Final

from gateway.core.delivering import Deliverer
from gateway.core.facts import ORIGINS, WILL_CLEAR_REASONS
from gateway.core.limits import Limits
from gateway.core.output import Output
from gateway.core.recorder import Recorder
from gateway.core.session import Connection, Held, Message, Session
from gateway.core.state import State
from gateway.core.statistics import Statistics
from gateway.core.topic_tree import Route
from gateway.wire.encoder import puback, pubcomp, publish_frame, pubrec
from gateway.wire.packets import Publish

FROM_CLIENT: Final = ORIGINS.index("client")
FROM_WILL: Final = ORIGINS.index("will")
WILL_PUBLISHED: Final = WILL_CLEAR_REASONS.index("published")


class Publisher:
    """What a PUBLISH, a PUBREL or a will sets off. Peers' errors are returned as sentences."""

    def __init__(
        self,
        state: State,
        recorder: Recorder,
        output: Output,
        deliverer: Deliverer,
        limits: Limits,
        statistics: Statistics,
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.output = output
        self.deliverer = deliverer
        self.limits = limits
        self.statistics = statistics

    def receive_publish(
        self, session: Session, connection: Connection, packet: Publish, now: float
    ) -> str | None:
        """Handle a PUBLISH at the QoS it came with."""
        if packet.qos == 2:
            return self._receive_qos2(session, connection, packet, now)
        session.received_messages += 1
        self.statistics.count_received(packet.qos)
        route = self.state.tree.route_of(packet.topic)
        if packet.qos == 0:
            keeps = route.persistent and self.limits.mqueue_store_qos0
            if not (packet.retain or route.logged or keeps):
                self._forward(route, packet)
                return None
            self._publish(session, self._message_of(packet), route, FROM_CLIENT, now)
            return None
        recorded = self._publish(session, self._message_of(packet), route, FROM_CLIENT, now)
        if recorded:
            self.output.withhold(connection, puback(packet.packet_id))
        else:
            self.output.send(connection, puback(packet.packet_id))
        return None

    def _forward(self, route: Route, packet: Publish) -> None:
        """Send a QoS 0 PUBLISH on as the bytes it came in."""
        frame = packet.frame
        output = self.output
        sent = 0
        for target in route.targets:
            session = target.session
            connection = session.connection
            if connection is None:
                continue
            if connection.writable and connection.greeted:
                output.push(connection, frame)
                session.delivered_messages += 1
                sent += 1
            else:
                message = self._message_of(packet)
                self.deliverer.deliver_qos0(session, message, frame, retain=False)
        self.statistics.sent_qos0 += sent

    def _message_of(self, packet: Publish) -> Message:
        number = self.state.next_message_number
        self.state.next_message_number = number + 1
        return Message(
            number,
            packet.topic,
            packet.topic_field,
            packet.payload,
            packet.qos,
            packet.retain,
            packet.properties,
        )

    # -- QoS 2 (section 4.3.3, method B of figure 4.3: the message itself is stored)

    def _receive_qos2(
        self, session: Session, connection: Connection, packet: Publish, now: float
    ) -> str | None:
        packet_id = packet.packet_id
        held = session.inbound.get(packet_id)
        if held is not None:
            # A repeat before PUBREL is acknowledged, never delivered [MQTT-4.3.3-2].
            self.statistics.duplicates_suppressed += 1
            self.recorder.duplicate_suppressed(held)
            self.output.send(connection, pubrec(packet_id))
            return None
        size_bytes = len(packet.topic_field) + len(packet.payload)
        limit = self._awaiting_rel_limit(session, size_bytes)
        if limit:
            self.statistics.count_error(limit)
            detail = f"{len(session.inbound)} messages ({session.inbound_bytes} bytes) await PUBREL"
            self.recorder.observed(session, "limit_hit", limit, detail)
            return f"PUBLISH {packet_id} beyond {limit}: {detail}"
        session.received_messages += 1
        self.statistics.received_qos2 += 1
        held = Held(session, packet_id, self._message_of(packet), now)
        self.recorder.message_held(held)
        if session.durable:
            self.output.withhold(connection, pubrec(packet_id))
        else:
            self.output.send(connection, pubrec(packet_id))
        return None

    def _awaiting_rel_limit(self, session: Session, size_bytes: int) -> str:
        """Return the name of the limit that one more held message would exceed, or nothing."""
        if len(session.inbound) >= self.limits.max_awaiting_rel:
            return "max_awaiting_rel"
        total = session.inbound_bytes + size_bytes
        if session.inbound and total > self.limits.max_awaiting_rel_bytes:
            return "max_awaiting_rel_bytes"
        return ""

    def receive_pubrel(
        self, session: Session, connection: Connection, packet_id: int, now: float
    ) -> None:
        """Route the message at PUBREL; an unknown identifier gets PUBCOMP all the same."""
        held = session.inbound.get(packet_id)
        if held is None:
            self.output.send(connection, pubcomp(packet_id))
            return
        message = held.message
        route = self.state.tree.route_of(message.topic)
        recorded = session.durable or self._must_record(session, message, route)
        if session.durable:
            message.batch = self.recorder.batch_number
        elif recorded:
            self._record(session, message, route, FROM_CLIENT)
        self.recorder.message_released(held, len(route.targets))
        self._fan_out(route, message, now)
        if recorded:
            self.output.withhold(connection, pubcomp(packet_id))
        else:
            self.output.send(connection, pubcomp(packet_id))

    def abandon(self, held: Held) -> None:
        """`await_rel_timeout` has passed: the operator wants the identifier back."""
        self.statistics.abandoned += 1
        self.statistics.note(
            f"client {held.session.client_id!r}: no PUBREL {held.packet_id} within "
            f"await_rel_timeout: message {held.message.number} dropped"
        )
        self.statistics.count_drop("await_rel_timeout")
        self.recorder.message_abandoned(held)

    # -- every way in

    def publish_will(self, session: Session, now: float) -> None:
        """The connection ended without DISCONNECT [MQTT-3.1.2-8]."""
        will = session.will
        if will is None:
            return
        number = self.state.next_message_number
        self.state.next_message_number = number + 1
        message = Message(number, will.topic, will.topic_field, will.payload, will.qos, will.retain)
        self.recorder.will_cleared(session, WILL_PUBLISHED)
        route = self.state.tree.route_of(will.topic)
        self._record(session, message, route, FROM_WILL)
        self._fan_out(route, message, now)

    def _publish(
        self, session: Session, message: Message, route: Route, origin: int, now: float
    ) -> bool:
        recorded = self._must_record(session, message, route)
        if recorded:
            self._record(session, message, route, origin)
        self._fan_out(route, message, now)
        return recorded

    def _must_record(self, session: Session, message: Message, route: Route) -> bool:
        if route.logged or message.retain:
            return True
        if message.qos and (route.durable or session.durable):
            return True
        # Granted QoS 0, it waits in a queue all the same.
        return route.persistent and self.limits.mqueue_store_qos0

    def _record(self, session: Session, message: Message, route: Route, origin: int) -> None:
        self.recorder.message_published(session, message, origin, len(route.targets))
        if message.qos or origin == FROM_WILL:
            message.batch = self.recorder.batch_number

    def _fan_out(self, route: Route, message: Message, now: float) -> None:
        if message.retain:
            self._retain(message)
        frame = b""
        for target in route.targets:
            qos = message.qos if message.qos < target.qos else target.qos
            if qos:
                # [MQTT-3.3.1-9] RETAIN is 0 for those who were subscribed already
                self.deliverer.deliver(target.session, message, qos, False, now)
            else:
                if not frame:
                    frame = publish_frame(
                        message.topic_field,
                        message.payload,
                        0,
                        False,
                        False,
                        0,
                        4,
                        message.properties,
                    )
                self.deliverer.deliver_qos0(target.session, message, frame, retain=False)

    def _retain(self, message: Message) -> None:
        topic = message.topic
        before = self.state.retained.get(topic)
        size_bytes = self.state.retained_bytes + message.size_bytes()
        if before is not None:
            size_bytes -= before.size_bytes()
        if not message.payload:
            # [MQTT-3.3.1-10] an empty payload removes, and is not stored itself [MQTT-3.3.1-11]
            if before is not None:
                self.recorder.retained_cleared(topic)
        elif before is None and len(self.state.retained) >= self.limits.max_retained:
            self._refuse_to_retain(topic, "max_retained")
        elif size_bytes > self.limits.max_retained_bytes:
            if before is not None:
                # Rather none than one that is out of date.
                self.recorder.retained_cleared(topic)
            self._refuse_to_retain(topic, "max_retained_bytes")
        else:
            self.recorder.retained_set(message)

    def _refuse_to_retain(self, topic: str, limit: str) -> None:
        self.statistics.count_error(limit)
        self.statistics.note(f"{limit} reached: not retained: {topic[:200]!r}")
        self.recorder.observed(None, "limit_hit", limit, f"not retained: {topic[:200]}")
