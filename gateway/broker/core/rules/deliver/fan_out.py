"""Distributes messages to their subscribers, and stores retained messages."""

from gateway.broker.core.core import Core
from gateway.broker.core.permissions import RECEIVE_REFUSED
from gateway.broker.core.records.kinds import DropReason, Observation
from gateway.broker.core.rules.deliver import deliver
from gateway.broker.core.rules.deliver.retained_limits import retained_limit_reached
from gateway.broker.core.sessions.message import QOS, RETAIN, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.source import Source
from gateway.broker.core.topics.route import Group, Route, Target
from gateway.broker.core.work import DELIVERY_UNITS


def distribute(core: Core, publisher: Session, route: Route, message: Message, now: float) -> None:
    """Deliver a message to all subscribers of its topic, and retain it if RETAIN is set."""
    if message.retain:
        message.source = source_of(publisher)
        _retain(core, message)
    if route.refused:
        _refuse(core, publisher, route, message)
    core.state.work.spent += DELIVERY_UNITS * len(route.targets)
    frame = b""
    for each in route.targets:
        target: Target | None = each
        if each.no_local and each.session is publisher:
            target = each.local
            if target is None:
                continue
        assert target is not None, "a target without a session"
        flags = message.qos if message.qos < target.qos else target.qos
        # [MQTT-3.3.1-9] RETAIN is 0 for existing subscribers, unless a 5.0 client has requested
        # it as published [MQTT5-3.3.1-13]
        if message.retain and target.retain_as_published:
            flags |= RETAIN
        if flags & QOS:
            deliver.deliver(core, target.session, message, flags, now)
        else:
            frame = deliver.deliver_qos0(core, target.session, message, flags, frame)
    for group in route.groups:
        deliver_shared(core, group, message, message.retain, None, now)


def source_of(session: Session) -> Source:
    """Return a description of a session's client, to be stored with the client's retained messages.

    The same object is returned until the client's user, listener or groups change.
    """
    found = session.source
    if (
        found is None
        or found.username != session.username
        or found.listener != session.listener
        or found.groups != session.groups
    ):
        found = Source(session.username, session.client_id, session.listener, session.groups)
        session.source = found
    return found


def _refuse(core: Core, publisher: Session, route: Route, message: Message) -> None:
    """Count the subscribers to whom the access rules deny a message.

    If the message has QoS 1 or 2, also record it in the journal as dropped for each of these
    subscribers that has a persistent session and has subscribed with QoS 1 or 2.
    """
    core.statistics.count_error(RECEIVE_REFUSED, route.refused)
    if not message.qos:
        return
    for target in route.refused_targets:
        if not (target.no_local and target.session is publisher):
            core.recorder.message_dropped(target.session, message.number, DropReason.REFUSED)


def deliver_shared(
    core: Core, group: Group, message: Message, retain: bool, excluded: Session | None, now: float
) -> None:
    """Deliver a message to one member of a shared subscription [MQTT5-4.8.2-3].

    The message is never delivered to the session `excluded`.
    """
    core.state.work.spent += DELIVERY_UNITS + len(group.members) // 8
    refused: set[Session] | None = None
    if core.permissions.restricted:
        refused = core.permissions.refused_among(group.members, message.topic)
    session = group.choose(core.limits, message.qos, message.size_bytes(), excluded, refused)
    if session is None:
        core.statistics.drop(None, message.topic, "no_member")
        return
    subscription = group.members[session]
    qos = message.qos if message.qos < subscription.qos else subscription.qos
    flags = subscription.delivery_flags(qos, retain and subscription.retain_as_published)
    if qos:
        deliver.deliver(core, session, message, flags, now)
    else:
        deliver.deliver_qos0(core, session, message, flags, b"")


def _retain(core: Core, message: Message) -> None:
    topic = message.topic
    if not message.payload:
        # [MQTT-3.3.1-10] an empty payload removes the retained message, and is not stored
        # [MQTT-3.3.1-11]
        if topic in core.state.retained:
            core.recorder.retained_cleared(topic)
        return
    limit = (
        ""
        if message.has_place
        else retained_limit_reached(
            core.state, core.limits, message.owner, topic, message.size_bytes()
        )
    )
    if not limit:
        core.recorder.retained_set(message)
        return
    if topic in core.state.retained:
        # [MQTT-3.3.1-5], [MQTT-3.3.1-7] the message was accepted, so the older one is replaced,
        # even if there is no room for the new one.
        core.recorder.retained_cleared(topic)
    core.statistics.count_error(limit)
    core.statistics.note(f"{limit} reached: not retained: {topic[:200]!r}")
    core.recorder.observed(None, Observation.LIMIT_HIT, limit, f"not retained: {topic[:200]}")
