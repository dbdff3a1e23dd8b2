"""Redistributes a shared subscriber's messages when its session ends (5.0 section 4.8.2).

The session's queued messages and unacknowledged QoS 1 messages are passed to another member of the
shared subscription. A QoS 2 message that has been sent is not passed on [MQTT5-4.8.2-5].
Messages that are only on disk are loaded first. The end of the session and the new queue entries
can therefore be committed together.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.effects import HandOver
from gateway.broker.core.rules.deliver import fan_out
from gateway.broker.core.rules.publish import admission
from gateway.broker.core.sessions.message import KEY_SHIFT, SHARED, Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription


def begin(core: Core, session: Session, now: float) -> None:
    """Pass the messages of an ending session to other members of the shared subscriptions.

    Messages in memory are passed on now. Messages that are only on disk are requested from the
    store, and passed on by `finish`.
    """
    if not session.keys:
        return
    started = [delivery for delivery in session.outbound.values() if delivery.qos == 1]
    for delivery in (*started, *session.waiting, *session.recent):
        if delivery.message is not None:
            _hand_over(core, session, session.keys, delivery, delivery.message, now)
    on_disk = [delivery for delivery in started if delivery.message is None]
    shared = any(subscription.is_shared for subscription in session.keys.values())
    if shared and (on_disk or session.stored_count):
        core.effects.hand_overs.append(HandOver(session, on_disk))


def finish(
    core: Core,
    request: HandOver,
    contents: dict[int, Message],
    deliveries: list[Delivery],
    now: float,
) -> None:
    """Pass an ended session's messages to other members after they were loaded from disk."""
    for delivery in request.started:
        delivery.message = contents.get(delivery.message_number)
    for delivery in (*request.started, *deliveries):
        if delivery.message is not None:
            _hand_over(core, request.session, request.keys, delivery, delivery.message, now)


def _hand_over(
    core: Core,
    session: Session,
    keys: dict[int, Subscription],
    delivery: Delivery,
    message: Message,
    now: float,
) -> None:
    if not delivery.flags & SHARED or core.frames.is_expired(message):
        return
    subscription = keys.get(delivery.flags >> KEY_SHIFT)
    if subscription is None:
        return  # the member had left the group before
    group = core.state.tree.group_of(subscription)
    if group is None:
        return
    if not session.persistent:
        message = admission.record_again(core, session, message)
    # The message is sent to the other member once its removal from this session is durable.
    message.batch = core.recorder.batch_number
    # The other member may have requested retain as published.
    fan_out.deliver_shared(core, group, message, message.retain, session, now)
