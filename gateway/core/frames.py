"""The bytes of an outgoing PUBLISH for one connection: its version, its properties, its aliases."""

from gateway.core.session import KEY_SHIFT, RETAIN, Connection, Delivery, Message, Session
from gateway.core.topic_tree import TopicTree
from gateway.core.wall_time import WallTime
from gateway.wire.encoder import raw_publish_frame
from gateway.wire.message_properties import NEVER, NO_PROPERTIES, properties_field_of


class Frames:
    """Builds PUBLISH packets."""

    def __init__(self, tree: TopicTree, wall_time: WallTime) -> None:
        self.tree = tree
        self.wall_time = wall_time

    def is_expired(self, message: Message) -> bool:
        """Return whether the message expiry interval has passed [MQTT5-3.3.2-5]."""
        return 0 < message.expires_ms <= self.wall_time.time_ms

    def expiry_seconds_of(self, message: Message) -> int:
        """Return what is left of the message expiry interval [MQTT5-3.3.2-6], or NEVER."""
        if not message.expires_ms:
            return NEVER
        return max(0, (message.expires_ms - self.wall_time.time_ms + 999) // 1000)

    def delivery(
        self, connection: Connection, delivery: Delivery, message: Message, dup: bool
    ) -> bytes:
        """Return a delivery's PUBLISH at QoS 1 or 2."""
        field = b""
        if connection.version == 5:
            field = self._field(delivery.session, message, delivery.flags, 0)
        return raw_publish_frame(
            message.topic_field,
            message.payload,
            delivery.qos,
            delivery.flags & RETAIN != 0,
            dup,
            delivery.packet_id,
            field,
        )

    def qos0(self, connection: Connection, message: Message, flags: int, may_alias: bool) -> bytes:
        """Return a PUBLISH at QoS 0, for a delivery with these flags.

        `may_alias`: it leaves at once, so that an alias it defines is known to what follows.
        """
        topic_field = message.topic_field
        field = b""
        if connection.version == 5:
            alias = 0
            if connection.topic_alias_maximum:
                alias, known = _alias_of(connection, message.topic, may_alias)
                if known:
                    topic_field = b"\x00\x00"
            session = connection.session
            assert session is not None, "a PUBLISH to a connection without a session"
            field = self._field(session, message, flags, alias)
        retain = flags & RETAIN != 0
        return raw_publish_frame(topic_field, message.payload, 0, retain, False, 0, field)

    def _field(self, session: Session, message: Message, flags: int, alias: int) -> bytes:
        identifiers: list[int] = []
        if session.keys:
            identifiers = self._identifiers_of(session, message.topic, flags >> KEY_SHIFT)
        if not (message.forwarded or message.expires_ms or identifiers or alias):
            return NO_PROPERTIES
        expiry = self.expiry_seconds_of(message)
        return properties_field_of(expiry, message.forwarded, identifiers, alias)

    def _identifiers_of(self, session: Session, topic: str, key: int) -> list[int]:
        """Return the identifiers of all subscriptions that match [MQTT5-3.3.4-3].

        `key` names the one that a message came through, as a shared or a retained one does.
        """
        if not key:
            return self.tree.route_of(topic).identifiers.get(session, [])
        subscription = session.keys.get(key)
        if subscription is None or not subscription.identifier:
            return []
        return [subscription.identifier]


def _alias_of(connection: Connection, topic: str, may_alias: bool) -> tuple[int, bool]:
    alias = connection.aliases_out.get(topic, 0)
    if alias:
        return alias, True
    if may_alias and len(connection.aliases_out) < connection.topic_alias_maximum:
        alias = len(connection.aliases_out) + 1
        connection.aliases_out[topic] = alias
    return alias, False
