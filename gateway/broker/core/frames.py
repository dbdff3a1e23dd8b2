"""Encoder for PUBLISH packets to subscribers, with MQTT 5.0 properties and topic aliases."""

from typing import Final

from gateway.broker.core.gateway_time import GatewayTime
from gateway.broker.core.limits import ALIASED_TOPIC_CHARACTERS_MAX
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import KEY_SHIFT, RETAIN, Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.topics.tree import TopicTree
from gateway.broker.wire.encoder import raw_publish_frame
from gateway.broker.wire.message_properties import (
    EXPIRY_SECONDS_MAX,
    NEVER,
    NO_PROPERTIES,
    properties_field_of,
)

NO_ALIAS: Final = -1
"""Value of `release_batch` if aliases are not allowed, so the packet must contain its topic."""
NO_TOPIC: Final = b"\x00\x00"
"""The topic field of a packet that uses an alias."""


class Frames:
    """Encoder for the PUBLISH packets that deliver messages to clients."""

    def __init__(self, tree: TopicTree, time: GatewayTime) -> None:
        self.tree = tree
        self.time = time

    def is_expired(self, message: Message) -> bool:
        """Return True if the message expiry interval has passed [MQTT5-3.3.2-5]."""
        expires_ms = message.expires_ms
        return expires_ms != 0 and self.time.remaining_ms(message.number, expires_ms) <= 0

    def expiry_seconds_of(self, message: Message) -> int:
        """Return the seconds until a message expires, or NEVER if it has no expiry time.

        The value is sent to the receiver [MQTT5-3.3.2-6].
        """
        if not message.expires_ms:
            return NEVER
        remaining_ms = self.time.remaining_ms(message.number, message.expires_ms)
        # An earlier version whose clock was fast may have stored more than the field can contain.
        return min(max(0, (remaining_ms + 999) // 1000), EXPIRY_SECONDS_MAX)

    def delivery(
        self,
        connection: Connection,
        delivery: Delivery,
        message: Message,
        dup: bool,
        release_batch: int,
    ) -> bytes:
        """Encode the PUBLISH of a QoS 1 or 2 delivery.

        `release_batch` is the number of the batch that must be durable before the packet is sent,
        or NO_ALIAS if the packet must not use a topic alias.
        """
        retain = delivery.flags & RETAIN != 0
        packet_id = delivery.packet_id
        qos = delivery.qos
        field = b""
        if connection.version == 5:
            session = delivery.session
            flags = delivery.flags
            if connection.topic_alias_maximum and release_batch >= 0:
                frame = self._aliased(
                    connection, session, message, flags, qos, dup, packet_id, release_batch
                )
                if frame:
                    return frame
            field = self._field(session, message, flags, 0)
        topic_field = message.topic_field
        return raw_publish_frame(topic_field, message.payload, qos, retain, dup, packet_id, field)

    def qos0(
        self, connection: Connection, message: Message, flags: int, release_batch: int
    ) -> bytes:
        """Encode a PUBLISH that delivers a message at QoS 0.

        `flags` are the flags of a `Delivery`, which include RETAIN. `release_batch` is the number
        of the batch that must be durable before the packet is sent, or NO_ALIAS if the packet must
        not use a topic alias.
        """
        field = b""
        if connection.version == 5:
            session = connection.session
            assert session is not None, "a PUBLISH to a connection without a session"
            if connection.topic_alias_maximum and release_batch >= 0:
                frame = self._aliased(
                    connection, session, message, flags, 0, False, 0, release_batch
                )
                if frame:
                    return frame
            field = self._field(session, message, flags, 0)
        retain = flags & RETAIN != 0
        return raw_publish_frame(message.topic_field, message.payload, 0, retain, False, 0, field)

    def _aliased(
        self,
        connection: Connection,
        session: Session,
        message: Message,
        flags: int,
        qos: int,
        dup: bool,
        packet_id: int,
        release_batch: int,
    ) -> bytes:
        """Encode a PUBLISH with a topic alias, or return b"" if no alias can be used.

        `release_batch` is the number of the batch that must be durable before the packet is sent.
        A new alias is sent together with the topic. A known alias replaces the topic, unless the
        packet that defined it waits for a later batch and may therefore be sent after this one.
        """
        topic = message.topic
        defined = connection.aliases_out.get(topic)
        is_known = False
        if defined is not None:
            alias, defined_with = defined
            is_known = defined_with <= release_batch
        else:
            alias = len(connection.aliases_out) + 1
            if alias > connection.topic_alias_maximum or len(topic) > ALIASED_TOPIC_CHARACTERS_MAX:
                return b""
        topic_field = NO_TOPIC if is_known else message.topic_field
        field = self._field(session, message, flags, alias)
        retain = flags & RETAIN != 0
        frame = raw_publish_frame(topic_field, message.payload, qos, retain, dup, packet_id, field)
        maximum = connection.maximum_packet_size_bytes
        # Whether a message fits must not depend on earlier packets, since its topic may be needed
        # when it is resent. Without an alias, the packet is never larger than this sum.
        if 0 < maximum < len(frame) + len(message.topic_field):
            return b""
        if not is_known:
            connection.aliases_out[topic] = (alias, release_batch)
        return frame

    def _field(self, session: Session, message: Message, flags: int, alias: int) -> bytes:
        identifiers: list[int] = []
        if session.keys:
            identifiers = self._identifiers_of(session, message.topic, flags >> KEY_SHIFT)
        if not (message.forwarded or message.expires_ms or identifiers or alias):
            return NO_PROPERTIES
        expiry = self.expiry_seconds_of(message)
        return properties_field_of(expiry, message.forwarded, identifiers, alias)

    def _identifiers_of(self, session: Session, topic: str, key: int) -> list[int]:
        """Return the subscription identifiers to send with a message [MQTT5-3.3.4-3].

        If `key` is 0, return the identifiers of all the session's subscriptions that match the
        topic. Otherwise the message is sent for a single subscription, which `key` identifies.
        """
        if not key:
            return self.tree.route_of(topic).identifiers.get(session, [])
        subscription = session.keys.get(key)
        if subscription is None or not subscription.identifier:
            return []
        return [subscription.identifier]
