"""Publication of `$SYS` topics: at QoS 0, to connected clients, never recorded.

The server supplies the values; this module decides who receives them. They behave like retained
messages (a new subscriber gets the current value with RETAIN set), but are stored nowhere: not as
retained messages, not in queues, not in the journal. A disconnected client misses nothing, because
the next value replaces this one.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.frames import NO_ALIAS
from gateway.broker.core.sessions.message import RETAIN, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.wire.topics import matches
from gateway.broker.wire.values import topic_field_of


class SystemMessages:
    """Sends `$SYS` values to subscribers."""

    def __init__(self, core: Core) -> None:
        self.tree = core.state.tree
        self.output = core.output
        self.frames = core.frames
        self.limits = core.limits
        self.statistics = core.statistics
        self.effects = core.effects
        self.permissions = core.permissions

    def request(self, session: Session, subscription: Subscription) -> None:
        """Note that a new subscriber below `$SYS` needs the current values."""
        self.effects.system_subscriptions[session.number, subscription.topic_filter] = session

    def answer(self, values: dict[str, bytes]) -> None:
        """Send the current values to new subscribers, with RETAIN set [MQTT-3.3.1-8]."""
        requests = self.effects.system_subscriptions
        self.effects.system_subscriptions = {}
        messages = [_message_of(topic, payload) for topic, payload in values.items()]
        for (_, topic_filter), session in requests.items():
            subscription = session.subscriptions.get(topic_filter)
            if subscription is None:
                continue  # it has unsubscribed since, or its session has ended
            for message in messages:
                if matches(topic_filter, message.topic) and not (
                    self.permissions.restricted
                    and self.permissions.refuses_receive(session, message.topic)
                ):
                    self._send(session, message, subscription.delivery_flags(0, True))

    def publish(self, values: dict[str, bytes]) -> None:
        """Send changed values to all subscribers."""
        for topic, payload in values.items():
            route = self.tree.route_of(topic)
            if not route.count():
                continue
            message = _message_of(topic, payload)
            for target in route.targets:
                flags = RETAIN if target.retain_as_published else 0
                self._send(target.session, message, flags)
            for group in route.groups:
                refused: set[Session] | None = None
                if self.permissions.restricted:
                    refused = self.permissions.refused_among(group.members, topic)
                session = group.choose(self.limits, 0, message.size_bytes(), None, refused)
                if session is not None:
                    self._send(session, message, group.members[session].delivery_flags(0, False))

    def _send(self, session: Session, message: Message, flags: int) -> None:
        connection = session.connection
        if connection is None:
            return
        if not connection.writable:
            self.statistics.drop(session, message.topic, "slow_reader")
            return
        # No alias is used: a client's few aliases are better used for its other topics.
        frame = self.frames.qos0(connection, message, flags, NO_ALIAS)
        if not connection.takes(frame):
            self.statistics.drop(session, message.topic, "too_large")
            return
        self.statistics.sent_qos0 += 1
        self.statistics.publish_bytes_sent += len(message.payload)
        self.output.forward(connection, frame)


def _message_of(topic: str, payload: bytes) -> Message:
    return Message(0, topic, topic_field_of(topic), payload, 0, True)
