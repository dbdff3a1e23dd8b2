"""Rows of the tables: how sessions, messages, deliveries and wills are stored in columns."""

from typing import Any

from gateway.broker.core.records.layout import properties_in, properties_section
from gateway.broker.core.sessions.message import (
    HAS_PLACE,
    Delivery,
    DeliveryState,
    Message,
    Will,
)
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.values import topic_field_of

Row = tuple[Any, ...]


def message_row(message: Message) -> Row:
    """Return a message's row in `messages`."""
    properties = properties_section(message.expires_ms, message.forwarded) or None
    return message.number, message.topic, message.payload, message.flags(), properties


def message_of(
    number: int, topic: str, payload: bytes, flags: int, properties: bytes | None
) -> Message:
    """Create a message from its row in `messages`."""
    message = Message(number, topic, topic_field_of(topic), payload, flags & 3, bool(flags & 4))
    if properties is not None:
        message.expires_ms, message.forwarded = properties_in(properties)
    message.has_place = bool(flags & HAS_PLACE)
    message.stored = True
    message.batch = 0
    return message


def queue_row(delivery: Delivery) -> Row:
    """Return the row for a queued delivery in the table `queue`."""
    message = delivery.message
    return (
        delivery.session.number,
        delivery.position,
        delivery.message_number,
        delivery.flags,
        0 if message is None else message.size_bytes(),
    )


def outbound_row(delivery: Delivery) -> Row:
    """Return the row of the table `outbound` for a delivery that is in flight.

    The column `state` contains SENT until the PUBREC arrives, and then RECEIVED plus a number. The
    numbers show the order in which PUBRECs arrived.
    """
    return (
        delivery.session.number,
        delivery.packet_id,
        delivery.message_number,
        delivery.flags,
        delivery.position,
        delivery.state
        if delivery.state is DeliveryState.SENT
        else DeliveryState.RECEIVED + delivery.pubrec,
    )


def will_row(number: int, client_id: str, will: Will) -> Row:
    """Return the row in `wills` for the will of the session with this number."""
    return (
        number,
        client_id,
        will.topic,
        will.payload,
        will.qos | will.retain << 2,
        will.delay_seconds,
        will.expiry_seconds,
        will.forwarded,
    )


def session_row(session: Session) -> Row:
    """Return a session's row in `sessions`, with the queue as it was when the checkpoint began."""
    return (
        session.number,
        session.client_id,
        session.protocol,
        session.frozen_first,
        session.frozen_position,
        session.last_packet_id,
        session.closed_ms,
        session.expiry_seconds,
        session.username,
    )
