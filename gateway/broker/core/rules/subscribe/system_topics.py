"""Publishes `$SYS` topics at QoS 0, only to connected clients.

The server supplies the values, and this module selects the receivers. A new subscriber gets the
current value with RETAIN set, like a retained message. The values are not stored in queues or in
the journal. A disconnected client misses nothing, because each value replaces the previous one.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.frames import NO_ALIAS
from gateway.broker.core.sessions.message import RETAIN, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.wire.topics import matches
from gateway.broker.wire.values import topic_field_of


def request(core: Core, session: Session, subscription: Subscription) -> None:
    """Request the current values of `$SYS` topics, because a client has subscribed to them."""
    core.effects.system_subscriptions[session.number, subscription.topic_filter] = session


def answer(core: Core, values: dict[str, bytes]) -> None:
    """Send the current values of `$SYS` topics to new subscribers, with RETAIN set.

    RETAIN is required by [MQTT-3.3.1-8].
    """
    requests = core.effects.system_subscriptions
    core.effects.system_subscriptions = {}
    messages = [_message_of(topic, payload) for topic, payload in values.items()]
    for (_, topic_filter), session in requests.items():
        subscription = session.subscriptions.get(topic_filter)
        if subscription is None:
            continue  # it has unsubscribed since, or its session has ended
        for message in messages:
            if matches(topic_filter, message.topic) and not (
                core.permissions.restricted
                and core.permissions.refuses_receive(session, message.topic)
            ):
                _send(core, session, message, subscription.delivery_flags(0, True))


def publish(core: Core, values: dict[str, bytes]) -> None:
    """Send changed values of `$SYS` topics to the topics' subscribers."""
    for topic, payload in values.items():
        route = core.state.tree.route_of(topic)
        if not route.count():
            continue
        message = _message_of(topic, payload)
        for target in route.targets:
            flags = RETAIN if target.retain_as_published else 0
            _send(core, target.session, message, flags)
        for group in route.groups:
            refused: set[Session] | None = None
            if core.permissions.restricted:
                refused = core.permissions.refused_among(group.members, topic)
            session = group.choose(core.limits, 0, message.size_bytes(), None, refused)
            if session is not None:
                _send(core, session, message, group.members[session].delivery_flags(0, False))


def _send(core: Core, session: Session, message: Message, flags: int) -> None:
    connection = session.connection
    if connection is None:
        return
    if not connection.writable:
        core.statistics.drop(session, message.topic, "slow_reader")
        return
    # No alias is used: a client's few aliases are better used for its other topics.
    frame = core.frames.qos0(connection, message, flags, NO_ALIAS)
    if not connection.accepts(frame):
        core.statistics.drop(session, message.topic, "too_large")
        return
    core.statistics.sent_qos0 += 1
    core.statistics.publish_bytes_sent += len(message.payload)
    core.output.forward(connection, frame)


def _message_of(topic: str, payload: bytes) -> Message:
    return Message(0, topic, topic_field_of(topic), payload, 0, True)
