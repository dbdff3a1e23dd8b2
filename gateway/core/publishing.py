"""From a publisher into the broker: QoS 0, 1 and 2, retained messages, wills, the fan-out.

A QoS 2 message is held, and the fact with its packet identifier and its contents is durable before
PUBREC; it is routed at PUBREL, where the release and every queue entry stand in one batch.
"""

from typing import Final

from gateway.core.delivering import EXPIRED, Deliverer
from gateway.core.facts import DROP_REASONS, ORIGINS, WILL_CLEAR_REASONS
from gateway.core.fan_out import FanOut
from gateway.core.limits import Limits
from gateway.core.output import Output
from gateway.core.recorder import Recorder
from gateway.core.routes import Route, is_system_topic
from gateway.core.session import KEY_SHIFT, SHARED, Connection, Held, Message, Session
from gateway.core.state import State
from gateway.core.statistics import Statistics
from gateway.core.violation import (
    NO_MATCHING_SUBSCRIBERS,
    NOT_AUTHORIZED,
    PACKET_ID_NOT_FOUND,
    PAYLOAD_FORMAT_INVALID,
    PROTOCOL_ERROR,
    QUOTA_EXCEEDED,
    RECEIVE_MAXIMUM_EXCEEDED,
    TOPIC_ALIAS_INVALID,
    TOPIC_NAME_INVALID,
    Violation,
)
from gateway.core.wall_time import WallTime
from gateway.wire.encoder import encode, puback, pubcomp, pubrec
from gateway.wire.message_properties import forwarded_of
from gateway.wire.packets import Puback, Pubcomp, Publish, Pubrec

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
        wall_time: WallTime,
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.output = output
        self.deliverer = deliverer
        self.limits = limits
        self.statistics = statistics
        self.wall_time = wall_time
        self.fan_out = FanOut(state, recorder, deliverer, limits, statistics)

    def receive_publish(
        self, session: Session, connection: Connection, packet: Publish, now: float
    ) -> Violation | None:
        """Handle a PUBLISH at the QoS it came with."""
        if packet.properties is not None and packet.properties.topic_alias is not None:
            violation = self._resolve_alias(connection, packet)
            if violation is not None:
                return violation
        if packet.topic.count("/") >= self.limits.max_topic_levels:
            return Violation(
                "max_topic_levels",
                TOPIC_NAME_INVALID,
                f"more than max_topic_levels = {self.limits.max_topic_levels} topic levels",
            )
        if packet.qos == 2:
            return self._receive_qos2(session, connection, packet, now)
        route = self.state.tree.route_of(packet.topic)
        refusal = 0
        if connection.version == 5 or route.is_system:
            refusal = self._refusal_of(connection, packet, route.is_system)
        if refusal:
            if packet.qos:
                answer = encode(Puback(packet.packet_id, refusal), connection.version)
                self.output.send(connection, answer)
            return None
        session.received_messages += 1
        statistics = self.statistics
        statistics.count_received(packet.qos)
        statistics.publish_bytes_received += len(packet.payload)
        if statistics.observe is not None:
            statistics.published(
                session, packet.topic, packet.payload, packet.qos, packet.retain, False
            )
        if packet.qos == 0:
            keeps = route.persistent and self.limits.mqueue_store_qos0
            if route.plain and not (packet.retain or route.logged or keeps):
                self._forward(route, connection.version, packet)
                return None
        message = self._message_of(packet)
        recorded = self._must_record(session, message, route)
        if recorded:
            self._record(session, message, route, FROM_CLIENT)
        if packet.qos:
            self._acknowledge(connection, packet.packet_id, route, recorded)
        self.fan_out.deliver(session, route, message, now)
        return None

    def _acknowledge(
        self, connection: Connection, packet_id: int, route: Route, recorded: bool
    ) -> None:
        # Before the deliveries of the same batch: a client that subscribes to what it publishes
        # must not find PUBACK behind them, where its own Nagle's algorithm would wait for it.
        answer = puback(packet_id)
        if connection.version == 5 and not route.count():
            answer = encode(Puback(packet_id, NO_MATCHING_SUBSCRIBERS), 5)
        if recorded:
            self.output.withhold(connection, answer)
        else:
            self.output.send(connection, answer)

    def _resolve_alias(self, connection: Connection, packet: Publish) -> Violation | None:
        """Put the topic in the place of its alias, or learn the alias (section 3.3.2.3.4)."""
        assert packet.properties is not None, "a topic alias is a property"
        alias = packet.properties.topic_alias
        if alias is None or alias > self.limits.max_topic_alias:
            # [MQTT5-3.3.2-9]
            detail = f"topic alias {alias}, expected at most {self.limits.max_topic_alias}"
            return Violation("topic_alias", TOPIC_ALIAS_INVALID, detail)
        if packet.topic:
            connection.aliases_in[alias] = (packet.topic, packet.topic_field)
            return None
        known = connection.aliases_in.get(alias)
        if known is None:
            detail = f"topic alias {alias} stands for no topic on this connection"
            return Violation("topic_alias", PROTOCOL_ERROR, detail)
        packet.topic, packet.topic_field = known
        return None

    def _refusal_of(self, connection: Connection, packet: Publish, is_system: bool) -> int:
        """Return the reason code a message is refused with, 0 if it is not.

        Before 5.0 there is no way to say so: the message is acknowledged and goes nowhere.
        """
        if is_system:
            # [MQTT-4.7.2-1] $SYS is what the broker says, not a place to exchange messages
            self.statistics.count_error("system_topic")
            self.statistics.publishes_refused += 1
            return NOT_AUTHORIZED
        if connection.version != 5:
            return 0
        properties = packet.properties
        if (
            self.limits.check_payload_format
            and properties is not None
            and properties.payload_format_indicator == 1
            and not _is_utf8(packet.payload)
        ):
            self.statistics.count_error("payload_format")
            self.statistics.publishes_refused += 1
            return PAYLOAD_FORMAT_INVALID
        retained = self.state.retained
        if (
            packet.retain
            and packet.payload
            and len(retained) >= self.limits.max_retained
            and packet.topic not in retained
        ):
            self.statistics.count_error("max_retained")
            self.statistics.publishes_refused += 1
            return QUOTA_EXCEEDED
        return 0

    def _forward(self, route: Route, version: int, packet: Publish) -> None:
        """Send a QoS 0 PUBLISH on as the bytes it came in, to clients of its sender's version."""
        frame = packet.frame
        output = self.output
        statistics = self.statistics
        is_5 = version == 5
        message: Message | None = None
        sent = 0
        for target in route.targets:
            session = target.session
            connection = session.connection
            if connection is None:
                continue
            if (
                connection.writable
                and connection.greeted
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
                    message = self._message_of(packet)
                self.deliverer.deliver_qos0(session, message, 0, b"")
        statistics.sent_qos0 += sent
        statistics.publish_bytes_sent += sent * len(packet.payload)

    def _message_of(self, packet: Publish) -> Message:
        number = self.state.next_message_number
        self.state.next_message_number = number + 1
        message = Message(
            number,
            packet.topic,
            packet.topic_field,
            packet.payload,
            packet.qos,
            packet.retain,
        )
        properties = packet.properties
        if properties is not None:
            message.forwarded = forwarded_of(properties)
            if properties.message_expiry_interval_seconds is not None:
                interval_ms = properties.message_expiry_interval_seconds * 1000
                # An interval of 0 expires at once, but is not "never".
                message.expires_ms = max(1, self.wall_time.time_ms + interval_ms)
        return message

    # -- QoS 2 (section 4.3.3, method B of figure 4.3: the message itself is stored)

    def _receive_qos2(
        self, session: Session, connection: Connection, packet: Publish, now: float
    ) -> Violation | None:
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
            detail = f"{len(session.inbound)} messages ({session.inbound_bytes} bytes) await PUBREL"
            self.recorder.observed(session, "limit_hit", limit, detail)
            # [MQTT5-3.3.4-7]
            code = RECEIVE_MAXIMUM_EXCEEDED if limit == "max_awaiting_rel" else QUOTA_EXCEEDED
            return Violation(limit, code, f"PUBLISH {packet_id} beyond {limit}: {detail}")
        refusal = self._refusal_of(connection, packet, is_system_topic(packet.topic))
        if refusal:
            # A PUBREC with an error ends the exchange: nothing is held (section 4.3.3).
            answer = encode(Pubrec(packet_id, refusal), connection.version)
            self.output.send(connection, answer)
            return None
        session.received_messages += 1
        self.statistics.received_qos2 += 1
        self.statistics.publish_bytes_received += len(packet.payload)
        held = Held(session, packet_id, self._message_of(packet), now)
        self.recorder.message_held(held)
        answer = pubrec(packet_id)
        if connection.version == 5 and not self.state.tree.route_of(packet.topic).count():
            answer = encode(Pubrec(packet_id, NO_MATCHING_SUBSCRIBERS), 5)
        if session.durable:
            self.output.withhold(connection, answer)
        else:
            self.output.send(connection, answer)
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
            unknown = encode(Pubcomp(packet_id, PACKET_ID_NOT_FOUND), connection.version)
            self.output.send(connection, unknown)
            return
        message = held.message
        if self.statistics.observe is not None:
            self.statistics.published(
                session, message.topic, message.payload, 2, message.retain, False
            )
        route = self.state.tree.route_of(message.topic)
        is_expired = self.deliverer.frames.is_expired(message)
        recorded = session.durable or self._must_record(session, message, route)
        if session.durable:
            message.batch = self.recorder.batch_number
        elif recorded:
            self._record(session, message, route, FROM_CLIENT)
        self.recorder.message_released(held, 0 if is_expired else route.count())
        if recorded:
            self.output.withhold(connection, pubcomp(packet_id))
        else:
            self.output.send(connection, pubcomp(packet_id))
        if is_expired:
            # [MQTT5-3.3.2-5], [MQTT5-4.3.3-13] the exchange is completed all the same
            self.statistics.drop(None, message.topic, DROP_REASONS[EXPIRED])
            return
        self.fan_out.deliver(session, route, message, now)

    def abandon(self, held: Held) -> None:
        """`await_rel_timeout` has passed: the operator wants the identifier back."""
        self.statistics.abandoned += 1
        self.statistics.note(
            f"client {held.session.client_id!r}: no PUBREL {held.packet_id} within "
            f"await_rel_timeout: message {held.message.number} dropped"
        )
        self.statistics.drop(None, held.message.topic, "await_rel_timeout")
        self.recorder.message_abandoned(held)

    # -- every way in

    def publish_will(self, session: Session, now: float) -> None:
        """The connection ended without DISCONNECT [MQTT-3.1.2-8]."""
        will = session.will
        if will is None:
            return
        number = self.state.next_message_number
        self.state.next_message_number = number + 1
        message = Message(
            number,
            will.topic,
            will.topic_field,
            will.payload,
            will.qos,
            will.retain,
            will.forwarded,
        )
        if will.expiry_seconds >= 0:
            message.expires_ms = max(1, self.wall_time.time_ms + will.expiry_seconds * 1000)
        self.recorder.will_cleared(session, WILL_PUBLISHED)
        self.statistics.published(session, will.topic, will.payload, will.qos, will.retain, True)
        route = self.state.tree.route_of(will.topic)
        self._record(session, message, route, FROM_WILL)
        self.fan_out.deliver(session, route, message, now)

    def _must_record(self, session: Session, message: Message, route: Route) -> bool:
        if route.logged or message.retain:
            return True
        if message.qos and (route.durable or session.durable):
            return True
        # Granted QoS 0, it waits in a queue all the same.
        return route.persistent and self.limits.mqueue_store_qos0

    def _record(self, session: Session, message: Message, route: Route, origin: int) -> None:
        self.recorder.message_published(session, message, origin, route.count())
        if message.qos or origin == FROM_WILL:
            message.batch = self.recorder.batch_number

    def redeliver_shared(self, session: Session, now: float) -> None:
        """A session is about to end: what came to it through shared subscriptions goes on.

        Not so a QoS 2 message whose delivery was started [MQTT5-4.8.2-5].
        """
        started = [delivery for delivery in session.outbound.values() if delivery.qos == 1]
        for delivery in (*started, *session.waiting, *session.recent):
            if not delivery.flags & SHARED or delivery.message is None:
                continue
            if self.deliverer.frames.is_expired(delivery.message):
                continue
            subscription = session.keys.get(delivery.flags >> KEY_SHIFT)
            if subscription is None:
                continue  # the member had left the group before
            group = self.state.tree.group_of(subscription)
            if group is not None:
                if delivery.message.batch < 0:
                    route = self.state.tree.route_of(delivery.message.topic)
                    self._record(session, delivery.message, route, FROM_CLIENT)
                # It goes to the other when it is known to be gone from this one.
                delivery.message.batch = self.recorder.batch_number
                retain = delivery.message.retain  # the other may have asked for it as published
                self.fan_out.deliver_shared(group, delivery.message, retain, session, now)


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
