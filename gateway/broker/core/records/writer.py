"""Encoder of journal records. No other module writes records. Their layouts are in `layout`.

Records that occur for every message are written field by field with a BytesWriter. Packing them
with a Struct would be ten times slower, because compiled code would have to create an object for
each integer. This would take a tenth of the broker's CPU time. Only rare records are packed with a
Struct.
"""

from typing import Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le

from gateway.broker.core.records import layout
from gateway.broker.core.records.kinds import (
    CloseReason,
    DropReason,
    EndReason,
    Observation,
    Origin,
    RecordKind,
    StartKind,
    WillClearReason,
)
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import (
    KEY_SHIFT,
    SINGLE_SUBSCRIPTION,
    Delivery,
    Message,
    Will,
)
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription

ADDRESS_BYTES_MAX = 255
"""Maximum bytes of an address, a version or a previous boot, since the length is stored in one
byte."""
OBSERVED_TEXT_BYTES_MAX = 1000
"""Maximum bytes of a text in an observation, to limit what a client can add to the journal."""


def write_u16(records: BytesWriter, value: int) -> None:
    records.append(value & 0xFF)
    records.append(value >> 8)


def write_u32(records: BytesWriter, value: int) -> None:
    write_i32_le(records, value if value < 0x8000_0000 else value - 0x1_0000_0000)


def write_u64(records: BytesWriter, value: int) -> None:
    """Write an unsigned integer below 2^63."""
    write_i64_le(records, value)


def write_head(records: BytesWriter, kind: RecordKind, session: int) -> None:
    """Write the record kind and the session number, the first fields of a session's record."""
    records.append(kind)
    write_u32(records, session)


def write_exchange(
    records: BytesWriter, kind: RecordKind, session: int, packet_id: int, message: int
) -> None:
    """Write the fields of an EXCHANGE_RECORD. Some longer records begin with the same fields."""
    write_head(records, kind, session)
    write_u16(records, packet_id)
    write_u64(records, message)


# -- messages


def write_held(records: BytesWriter, session: int, packet_id: int, message: Message) -> None:
    write_exchange(records, RecordKind.MESSAGE_HELD, session, packet_id, message.number)
    _write_contents(records, message)


def write_released(
    records: BytesWriter, session: int, packet_id: int, message: int, matched: int
) -> None:
    write_exchange(records, RecordKind.MESSAGE_RELEASED, session, packet_id, message)
    write_u32(records, matched)


def write_published(
    records: BytesWriter, session: int, message: Message, origin: Origin, matched: int
) -> None:
    write_head(records, RecordKind.MESSAGE_PUBLISHED, session)
    records.append(origin)
    write_u32(records, matched)
    write_u64(records, message.number)
    _write_contents(records, message)


def _write_contents(records: BytesWriter, message: Message) -> None:
    """Write the fields of a message (MESSAGE in `layout`) without the message number."""
    topic = message.topic_field[2:]
    properties = layout.properties_section(message.expires_ms, message.forwarded)
    records.append(message.flags())
    write_u16(records, len(topic))
    write_u32(records, len(message.payload))
    write_u32(records, len(properties))
    records.write(topic)
    records.write(message.payload)
    records.write(properties)


# -- deliveries


def write_queued(records: BytesWriter, session: int, delivery: Delivery) -> None:
    write_head(records, RecordKind.MESSAGE_QUEUED, session)
    write_u64(records, delivery.message_number)
    _write_place(records, delivery)


def write_started(records: BytesWriter, session: int, delivery: Delivery, packet_id: int) -> None:
    write_exchange(
        records, RecordKind.DELIVERY_STARTED, session, packet_id, delivery.message_number
    )
    _write_place(records, delivery)


def _write_place(records: BytesWriter, delivery: Delivery) -> None:
    """Write a delivery's flags, its queue position and, if it has one, its subscription key."""
    flags = delivery.flags
    records.append(flags & 0xFF)
    write_u64(records, delivery.position)
    if flags & SINGLE_SUBSCRIPTION:
        write_u32(records, flags >> KEY_SHIFT)


def write_resent(
    records: BytesWriter, session: int, packet_id: int, message: int, is_pubrel: bool
) -> None:
    write_exchange(records, RecordKind.DELIVERY_RESENT, session, packet_id, message)
    records.append(1 if is_pubrel else 0)


def write_delivered_at_qos0(
    records: BytesWriter, session: int, message: int, position: int
) -> None:
    write_head(records, RecordKind.DELIVERED_AT_QOS0, session)
    write_u64(records, message)
    write_u64(records, position)


NO_POSITION: Final = -1
"""Position of a message that is not in a queue: `layout.NEVER_QUEUED` as a signed integer."""


def write_dropped(
    records: BytesWriter, session: int, message: int, reason: DropReason, position: int
) -> None:
    """Write a MESSAGE_DROPPED record.

    `position` is the message's queue position, or NO_POSITION if the message was not in the queue.
    """
    write_head(records, RecordKind.MESSAGE_DROPPED, session)
    write_u64(records, message)
    records.append(reason)
    write_i64_le(records, position)


# -- sessions


def write_connected(
    records: BytesWriter, kind: RecordKind, session: Session, connection: Connection
) -> None:
    """Write a SESSION_OPENED or SESSION_RESUMED record."""
    address = connection.address.encode()[:ADDRESS_BYTES_MAX]
    records.write(
        layout.CONNECT_RECORD.pack(
            kind,
            session.number,
            0 if session.persistent else 1,
            session.protocol,
            connection.keep_alive_seconds,
            session.expiry_seconds,
            len(address),
        )
    )
    records.write(address)


def write_ended(
    records: BytesWriter,
    kind: RecordKind,
    session: int,
    reason: CloseReason | EndReason | WillClearReason,
) -> None:
    """Write a SESSION_CLOSED, SESSION_ENDED or WILL_CLEARED record."""
    records.write(layout.REASON_RECORD.pack(kind, session, reason))


def write_expiry(records: BytesWriter, session: int, expiry_seconds: int) -> None:
    records.write(layout.EXPIRY_RECORD.pack(RecordKind.EXPIRY_CHANGED, session, expiry_seconds))


def write_owned(records: BytesWriter, session: int, username: str) -> None:
    text = username.encode()
    records.write(layout.OWNED_RECORD.pack(RecordKind.SESSION_OWNED, session, len(text)))
    records.write(text)


def write_subscribed(records: BytesWriter, session: int, subscription: Subscription) -> None:
    text = subscription.topic_filter.encode()
    records.write(
        layout.SUBSCRIBED_RECORD.pack(
            RecordKind.SUBSCRIBED,
            session,
            subscription.options,
            subscription.identifier,
            len(text),
        )
    )
    records.write(text)


def write_unsubscribed(records: BytesWriter, session: int, topic_filter: str) -> None:
    text = topic_filter.encode()
    records.write(layout.FILTER_RECORD.pack(RecordKind.UNSUBSCRIBED, session, len(text)))
    records.write(text)


def write_will(records: BytesWriter, session: int, will: Will) -> None:
    topic = will.topic_field[2:]
    records.write(
        layout.WILL_RECORD.pack(
            RecordKind.WILL_SET,
            session,
            will.qos | (4 if will.retain else 0),
            will.delay_seconds,
            will.expiry_seconds,
            len(topic),
            len(will.payload),
            len(will.forwarded),
        )
    )
    records.write(topic)
    records.write(will.payload)
    records.write(will.forwarded)


# -- without a session


def write_retained(records: BytesWriter, message: int, topic: bytes, source: bytes) -> None:
    records.write(
        layout.RETAINED_RECORD.pack(RecordKind.RETAINED_SET, message, len(topic), len(source))
    )
    records.write(topic)
    records.write(source)


def write_retained_cleared(records: BytesWriter, topic: bytes) -> None:
    records.write(layout.CLEARED_RECORD.pack(RecordKind.RETAINED_CLEARED, len(topic)))
    records.write(topic)


def write_observed(
    records: BytesWriter, session: int, event: Observation, subject: str, detail: str
) -> None:
    """Write an OBSERVED record, with long texts truncated.

    `session` is the session number, or 0 if the event does not belong to a session.
    """
    first = subject.encode("utf-8", "replace")[:OBSERVED_TEXT_BYTES_MAX]
    second = detail.encode("utf-8", "replace")[:OBSERVED_TEXT_BYTES_MAX]
    records.write(
        layout.OBSERVED_RECORD.pack(RecordKind.OBSERVED, session, event, len(first), len(second))
    )
    records.write(first)
    records.write(second)


def write_broker_started(
    records: BytesWriter, recovery: StartKind, version: str, previous_boot: str
) -> None:
    first = version.encode()[:ADDRESS_BYTES_MAX]
    second = previous_boot.encode()[:ADDRESS_BYTES_MAX]
    records.write(
        layout.BROKER_STARTED_RECORD.pack(
            RecordKind.BROKER_STARTED, recovery, len(first), len(second)
        )
    )
    records.write(first)
    records.write(second)


def write_broker_stopped(records: BytesWriter) -> None:
    records.write(layout.BROKER_STOPPED_RECORD.pack(RecordKind.BROKER_STOPPED))
