"""Delivery to subscribers: queues, limits on messages in flight, packet identifiers.

A delivery at QoS 1 or 2 passes through these states (`DeliveryState`):

    WAITING --PUBLISH is sent--> SENT --PUBACK, QoS 1--------------------------> DONE
       |                          |
       |                          +-----PUBREC, QoS 2---> RECEIVED --PUBCOMP--> DONE
       +--dropped: expired, refused, too large, displaced---------------------> DONE

A message in the session's queue is WAITING. A message that can be sent immediately is not queued
but starts as SENT. SENT is recorded with the packet identifier before PUBLISH is sent, and RECEIVED
before PUBREL is sent. Therefore, the same packet is resent with the same identifier after a restart
(`resend`). Queued messages are sent in their order [MQTT-4.6.0-5].
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.effects import PageRequest
from gateway.broker.core.frames import NO_ALIAS
from gateway.broker.core.limits import FORWARDED_BYTES_MAX, WAITING_IN_MEMORY_MESSAGES
from gateway.broker.core.records.kinds import DropReason
from gateway.broker.core.rules.deliver import enqueue, resend
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import RETAIN, Delivery, DeliveryState, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.when_full import WhenFull

SLOW_READER: Final = "slow_reader"


# -- messages in


def deliver_qos0(core: Core, session: Session, message: Message, flags: int, frame: bytes) -> bytes:
    """Send a message at QoS 0, or queue it for a disconnected client if `mqueue_store_qos0` is set.

    The encoded PUBLISH is reused for other MQTT 3.x clients. For a message's first receiver, pass
    an empty `frame`. For each further receiver, pass the value that the previous call returned.
    """
    connection = session.connection
    stores_qos0 = session.persistent and core.limits.mqueue_store_qos0
    if connection is None or (stores_qos0 and session.queued_count):
        # After messages queued while the client was away, not before them [MQTT-4.6.0-6].
        if stores_qos0:
            enqueue.add(core, session, message, flags)
        return frame
    if not connection.writable or connection.forwarded_bytes > FORWARDED_BYTES_MAX:
        _drop_at_slow_reader(core, session, message)
        return frame
    committed = core.output.committed_batch
    withheld = message.batch > committed
    if (stores_qos0 or message.qos) and connection.withheld_batch > committed:
        # Earlier messages, queued or published at this QoS, are in transit [MQTT-4.6.0-6].
        withheld = True
    plain = connection.version < 5 and not flags & RETAIN
    if not (plain and frame):
        release_batch = NO_ALIAS
        if connection.topic_alias_maximum:
            release_batch = core.output.qos0_release_batch(connection, withheld)
        made = core.frames.qos0(connection, message, flags, release_batch)
        if plain:
            frame = made
    else:
        made = frame
    if not connection.accepts(made):
        _count_too_large(core, session, message)
        return frame
    core.statistics.sent_qos0 += 1
    core.statistics.publish_bytes_sent += len(message.payload)
    session.delivered_messages += 1
    if core.statistics.observe is not None:
        core.statistics.delivered_at_qos0(session, message.topic)
    if withheld:
        core.output.withhold(connection, made)
    else:
        core.output.forward(connection, made)
    return frame


def _count_too_large(core: Core, session: Session, message: Message) -> None:
    """Count a message as dropped because it exceeds the client's maximum packet size.

    The packet must not be sent to this client [MQTT5-3.1.2-25].
    """
    core.statistics.drop(session, message.topic, DropReason.TOO_LARGE.word)


def _drop_at_slow_reader(core: Core, session: Session, message: Message) -> None:
    core.statistics.drop(session, message.topic, SLOW_READER)
    enqueue.note_overflow(core, session, "max_write_buffer", "QoS 0 messages are dropped")


def deliver(core: Core, session: Session, message: Message, flags: int, now: float) -> None:
    """Send a message at QoS 1 or 2 immediately if possible, otherwise queue it.

    `flags` are the flags of the `Delivery`, which include its QoS.
    """
    connection = session.connection
    if connection is not None and session.can_send_immediately(connection, core.limits, 1):
        delivery = Delivery(session, message, message.number, flags, session.next_position)
        _start(core, session, connection, delivery, message, now)
    else:
        enqueue.add(core, session, message, flags)


# -- the window


def _start(
    core: Core,
    session: Session,
    connection: Connection,
    delivery: Delivery,
    message: Message,
    now: float,
) -> None:
    delivery.packet_id = session.free_packet_id()
    is_fact = session.persistent or message.batch > core.output.committed_batch
    release_batch = NO_ALIAS
    if connection.topic_alias_maximum:
        release_batch = core.output.release_batch(connection, is_fact)
    frame = core.frames.delivery(connection, delivery, message, False, release_batch)
    if not connection.accepts(frame):
        _count_too_large(core, session, message)
        if delivery.position < session.next_position:
            core.recorder.waiting_dropped(delivery, DropReason.TOO_LARGE)
        else:
            core.recorder.message_dropped(session, message.number, DropReason.TOO_LARGE)
        return
    core.recorder.delivery_started(delivery, delivery.packet_id)
    delivery.sent_at = now
    _count_sent(core, session, delivery.qos, len(message.payload))
    core.output.send(connection, frame, is_fact)


def _count_sent(core: Core, session: Session, qos: int, payload_bytes: int) -> None:
    session.delivered_messages += 1
    core.statistics.publish_bytes_sent += payload_bytes
    if qos == 1:
        core.statistics.sent_qos1 += 1
    else:
        core.statistics.sent_qos2 += 1


def pump(core: Core, session: Session, now: float) -> None:
    """Send queued messages to the client, up to the maximum number of messages in flight."""
    connection = session.connection
    if connection is None or session.loading:
        return
    window = connection.window_of(core.limits)
    if session.unsent:
        resend.send_unsent(core, session, connection, window, now)
    if not session.queued_count or session.unsent:
        return
    while connection.writable and len(session.outbound) < window:
        delivery = session.front()
        if delivery is None:
            if session.stored_count:
                enqueue.request_page(core, session)
                return
            break
        if delivery.message is None:
            _drop_lost(core, delivery)
        elif core.frames.is_expired(delivery.message):
            _drop_expired(core, delivery)
        elif delivery.position < session.recheck_before and (
            core.permissions.refuses_receive(session, delivery.message.topic)
        ):
            _drop_refused(core, delivery, delivery.message)
        elif delivery.qos:
            _start(core, session, connection, delivery, delivery.message, now)
        else:
            _send_stored_qos0(core, session, connection, delivery, delivery.message)
    enqueue.drained(core, session, connection, now)


def _send_stored_qos0(
    core: Core, session: Session, connection: Connection, delivery: Delivery, message: Message
) -> None:
    release_batch = core.recorder.batch_number
    frame = core.frames.qos0(connection, message, delivery.flags, release_batch)
    if not connection.accepts(frame):
        _count_too_large(core, session, message)
        core.recorder.waiting_dropped(delivery, DropReason.TOO_LARGE)
        return
    core.recorder.delivered_at_qos0(delivery)
    core.statistics.sent_qos0 += 1
    core.statistics.publish_bytes_sent += len(message.payload)
    core.statistics.delivered(delivery)
    session.delivered_messages += 1
    # At most once: the packet must not be sent before its removal from the queue is durable.
    core.output.withhold(connection, frame)


# -- contents from disk


def page_loaded(
    core: Core,
    request: PageRequest,
    contents: dict[int, Message],
    deliveries: list[Delivery],
    now: float,
) -> None:
    """Process the messages that the store has loaded from disk for `request`.

    These are the next messages in the session's queue, and messages in flight that `request` names.
    """
    session = request.session
    if session.ended or not session.loading or request.number != session.pages_requested:
        return
    session.loading = False
    if session.stored_first == request.first_position:
        session.waiting.extend(deliveries)
        session.stored_first += request.count
        session.stored_count -= request.count
        _count_lost(core, session, request.count - len(deliveries))
        if session.when_full is WhenFull.DROP_OLDEST:
            enqueue.displace_excess(core, session)
    if request.contents:
        _set_contents(core, session, contents)
    connection = session.connection
    if connection is not None:
        if request.contents:
            resend.resend_all(core, session, connection, now)
        pump(core, session, now)


def _set_contents(core: Core, session: Session, contents: dict[int, Message]) -> None:
    for delivery in session.outbound.values():
        if delivery.message is None and delivery.state is DeliveryState.SENT:
            delivery.message = contents.get(delivery.message_number)
            if delivery.message is None:
                _drop_lost(core, delivery)


def _count_lost(core: Core, session: Session, count: int) -> None:
    """Count messages that are missing from the queue because the store was damaged."""
    session.queued_count -= count
    for _ in range(count):
        core.statistics.drop(session, None, DropReason.CONTENTS_LOST.word)


def _drop_expired(core: Core, delivery: Delivery) -> None:
    """Drop a queued message whose expiry interval has passed [MQTT5-3.3.2-5]."""
    topic = None if delivery.message is None else delivery.message.topic
    core.statistics.drop(delivery.session, topic, DropReason.EXPIRED.word)
    core.recorder.waiting_dropped(delivery, DropReason.EXPIRED)


def _drop_refused(core: Core, delivery: Delivery, message: Message) -> None:
    """Drop a queued message that the session's client is no longer allowed to receive."""
    core.statistics.drop(delivery.session, message.topic, DropReason.REFUSED.word)
    core.recorder.waiting_dropped(delivery, DropReason.REFUSED)


def _drop_lost(core: Core, delivery: Delivery) -> None:
    """Drop a delivery whose message was lost when the store was damaged.

    Otherwise, the lost message would block later deliveries.
    """
    core.statistics.drop(delivery.session, None, DropReason.CONTENTS_LOST.word)
    if delivery.state is DeliveryState.SENT:
        core.recorder.message_dropped(
            delivery.session, delivery.message_number, DropReason.CONTENTS_LOST
        )
        core.recorder.delivery_completed(delivery)
    else:
        core.recorder.waiting_dropped(delivery, DropReason.CONTENTS_LOST)


def evict(core: Core, session: Session) -> None:
    """Free the memory of queued messages that are on disk, except a connected client's next few."""
    keep = WAITING_IN_MEMORY_MESSAGES if session.connection is not None else 0
    if not session.loading:
        session.evict(keep)


# -- resuming


def resume(core: Core, session: Session, now: float) -> None:
    """Resend unacknowledged messages [MQTT-4.4.0-1], then send queued messages."""
    connection = session.connection
    if connection is None:
        return
    session.loading = False
    missing = [
        delivery.message_number
        for delivery in session.outbound.values()
        if delivery.message is None and delivery.state is DeliveryState.SENT
    ]
    if missing:
        enqueue.request_page(core, session)
        core.effects.pages[-1].contents = missing
        return
    resend.resend_all(core, session, connection, now)
    pump(core, session, now)
