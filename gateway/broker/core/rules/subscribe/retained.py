"""Retained messages for new subscriptions, sent in slices so that one client does not delay others.

Each connection has a list of filters whose retained messages must still be sent. A filter that is
already in the list is not added again. For a persistent session, messages at QoS 1 and 2 enter the
session's queue in the same batch as the SUBACK, if there is room, so a power cut cannot lose them.
All other messages are sent in slices, as fast as the client reads.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.permissions import RECEIVE_REFUSED, SOURCE_REFUSED
from gateway.broker.core.rules.deliver import deliver, enqueue
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.subscribe_request import Found, PendingReplay, PendingSubscribe
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.topics.retained_walk import RetainedWalk
from gateway.broker.core.work import DELIVERY_UNITS, SLICE_UNITS

SLICE_MESSAGES: int = 500
"""Retained messages processed in one iteration of the event loop: about a millisecond."""

FIRST_MESSAGES: int = 50
"""Retained messages processed in the iteration that receives the SUBSCRIBE, since many clients may
subscribe in the same iteration."""

SLICE_BYTES: Final = 1024 * 1024
"""Retained bytes sent before writing to the socket, which may then turn out to be full."""

SLICE_LEVELS: Final = 2_000
"""Topic levels visited in one iteration of the event loop if few have retained messages."""

WAIT_SECONDS: Final = 0.05
"""Seconds that a slice waits for a client whose queue or socket is full."""


def find(core: Core, session: Session, connection: Connection, pending: PendingSubscribe) -> bool:
    """Find the retained messages to deliver to a persistent session after a SUBSCRIBE.

    `pending` is the progress of the SUBSCRIBE, which stores the messages found. Return True if the
    search is complete, or False if it must be continued. The search also ends when it has found one
    message more than the session can queue or have in flight. This extra message is later counted
    as dropped.
    """
    if not session.persistent:
        return True
    room = core.limits.max_mqueue_len - session.queued_count
    count_max = room + connection.window_of(core.limits) + 1
    while pending.walks_done < len(pending.wants_retained) and len(pending.found) < count_max:
        subscription = pending.wants_retained[pending.walks_done]
        if pending.walk is None and subscription.qos:
            pending.walk = RetainedWalk(core.state.tree.topics.root, subscription.topic_filter)
        if pending.walk is None or pending.walk.is_over():
            pending.walk = None
            pending.walks_done += 1
        elif core.state.work.spent > SLICE_UNITS:
            return False
        else:
            _find_some(core, session, pending, pending.walk, subscription)
    return True


def _find_some(
    core: Core,
    session: Session,
    pending: PendingSubscribe,
    walk: RetainedWalk,
    subscription: Subscription,
) -> None:
    core.state.work.spent += SLICE_MESSAGES
    for message in walk.step(SLICE_MESSAGES):
        if message.qos and not (_has_expired(core, message) or _is_refused(core, session, message)):
            pending.found.append(Found(subscription, message))


def deliver_found(core: Core, session: Session, pending: PendingSubscribe, now: float) -> bool:
    """Deliver the retained messages that `find` has found.

    Return True if all of them have been processed, or False if another call is needed.
    """
    dropped = session.dropped_messages
    is_cut = len(pending.found) * DELIVERY_UNITS > SLICE_UNITS
    while pending.found_done < len(pending.found):
        if is_cut and core.state.work.spent > SLICE_UNITS:
            return False
        found = pending.found[pending.found_done]
        pending.found_done += 1
        message, subscription = found.message, found.subscription
        if core.state.retained.get(message.topic) is not message:
            continue  # replaced since: the newer one was delivered as a normal message
        core.state.work.spent += DELIVERY_UNITS
        flags = subscription.delivery_flags(min(message.qos, subscription.qos), True)
        if not enqueue.drop_retained_if_full(core, session, message):
            deliver.deliver(core, session, message, flags, now)
        if session.dropped_messages > dropped:
            break  # the queue is full: each further one would be dropped and recorded
    pending.found = []
    return True


def add(core: Core, connection: Connection, subscription: Subscription) -> None:
    """Add a subscription to the list of subscriptions that still need retained messages."""
    replaying = core.replays.get(connection)
    if replaying is None:
        replaying = PendingReplay()
        core.replays[connection] = replaying
    replaying.requested[subscription.topic_filter] = subscription


def pump(core: Core, connection: Connection, now: float) -> None:
    """Send the first slice of a connection's retained messages now, and schedule the next slice."""
    replaying = core.replays.get(connection)
    if replaying is not None and not replaying.scheduled:
        _send_slice(core, connection, replaying, FIRST_MESSAGES, now)


def resume(core: Core, connection: Connection, now: float) -> None:
    """Send the next slice of a connection's retained messages, after its timer has fired."""
    replaying = core.replays.get(connection)
    if replaying is not None:
        replaying.scheduled = False
        _send_slice(core, connection, replaying, SLICE_MESSAGES, now)


def forget(core: Core, connection: Connection) -> None:
    """Discard the list of retained messages to send, because the connection was closed."""
    core.replays.pop(connection, None)
    core.pending_subscribes.pop(connection, None)


def _send_slice(
    core: Core, connection: Connection, replaying: PendingReplay, messages_max: int, now: float
) -> None:
    session = connection.session
    levels = SLICE_LEVELS
    remaining = messages_max
    while session is not None and connection.state is ConnectionState.CONNECTED:
        if not connection.writable or session.queued_count:
            _schedule(core, connection, replaying, now + WAIT_SECONDS)
            return
        if not remaining or not levels or connection.forwarded_bytes >= SLICE_BYTES:
            _schedule(core, connection, replaying, now)
            return
        if replaying.found:
            remaining -= 1
            core.state.work.spent += DELIVERY_UNITS
            _send(core, session, connection, replaying, replaying.found.pop(), now)
        elif replaying.walk is not None and not replaying.walk.is_over():
            step = min(levels, messages_max)
            levels -= step
            core.state.work.spent += step
            replaying.found = replaying.walk.step(step)
            replaying.found.reverse()
        elif not _begin_next_filter(core, replaying, session):
            break
    core.replays.pop(connection, None)


def _schedule(core: Core, connection: Connection, replaying: PendingReplay, due: float) -> None:
    replaying.scheduled = True
    core.timers.add(due, Timer(TimerKind.RETAINED, connection, None))


def _begin_next_filter(core: Core, replaying: PendingReplay, session: Session) -> bool:
    """Start the search for retained messages that match the next requested filter.

    Filters that are no longer subscribed are skipped. Return False if no filter remains, otherwise
    True.
    """
    while replaying.requested:
        topic_filter = next(iter(replaying.requested))
        subscription = replaying.requested.pop(topic_filter)
        if session.subscriptions.get(topic_filter) is subscription:
            replaying.current = subscription
            replaying.walk = RetainedWalk(core.state.tree.topics.root, topic_filter)
            return True
    return False


def _send(
    core: Core,
    session: Session,
    connection: Connection,
    replaying: PendingReplay,
    message: Message,
    now: float,
) -> None:
    subscription = replaying.current
    if subscription is None or core.state.retained.get(message.topic) is not message:
        return  # replaced since: the newer one was delivered as a normal message
    if _has_expired(core, message):
        return
    qos = min(message.qos, subscription.qos)
    if (qos and session.persistent) or _is_refused(core, session, message):
        return
    flags = subscription.delivery_flags(qos, True)
    if not qos:
        deliver.deliver_qos0(core, session, message, flags, b"")
    else:
        # [MQTT-3.3.1-8]
        deliver.deliver(core, session, message, flags, now)


def _is_refused(core: Core, session: Session, message: Message) -> bool:
    """Return True if a session is not allowed to receive a retained message.

    If `check_retain_source` is set, a message is also refused if its publisher has lost the right
    to publish it.
    """
    permissions = core.permissions
    if not permissions.restricted:
        return False
    if permissions.refuses_receive(session, message.topic):
        core.statistics.count_error(RECEIVE_REFUSED)
        return True
    source = message.source
    if source is None or not core.limits.check_retain_source:
        return False
    if not permissions.refuses_source(source, message.topic, message.qos):
        return False
    core.statistics.count_error(SOURCE_REFUSED)
    return True


def _has_expired(core: Core, message: Message) -> bool:
    """Return True if a retained message has expired (MQTT 5.0 section 3.3.2.3.3).

    If so, the message is removed from the retained messages.
    """
    expired = core.frames.is_expired(message)
    if expired and core.state.retained.get(message.topic) is message:
        core.recorder.retained_cleared(message.topic)
    return expired
