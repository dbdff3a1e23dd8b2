"""Facts, recorded and applied: one method per fact.

Each method writes the fact into the batch's blob and applies it to the state, so that no state
changes unrecorded. Facts about clean sessions change the state only. Observations are only written.
`seal` ends the batch: one blob, to be committed with one fsync.
"""

from zlib import crc32

from librt.strings import BytesWriter

from gateway.core.records import layout
from gateway.core.records.writing import (
    write_contents,
    write_delivery,
    write_exchange,
    write_head,
    write_u32,
    write_u64,
)
from gateway.core.sessions.connection import Connection
from gateway.core.sessions.message import KEY_SHIFT, THROUGH_ONE, Delivery, Held, Message, Will
from gateway.core.sessions.session import Session
from gateway.core.sessions.subscription import Subscription
from gateway.core.state import State


class Recorder:
    """Collects the facts of the batch that is being made."""

    def __init__(
        self, state: State, store: bytes, boot: bytes, batch_number: int, next_sequence: int
    ) -> None:
        self.state = state
        self.store = store
        self.boot = boot
        self.batch_number = batch_number
        self.next_sequence = next_sequence
        self.records = BytesWriter()
        self.record_count = 0
        self.names = bytearray()
        self.parts: list[bytes] = []
        """Records of the batch that `take_part` has handed out; those in `records` follow them."""
        self.parts_bytes = 0
        self.parts_count = 0
        self.parts_names_bytes = 0
        self.lazy = False
        """Since the last part something was recorded that no client waits for."""

    def pending_bytes(self) -> int:
        """Return the bytes of the records in the batch that is being made."""
        return self.parts_bytes + len(self.records)

    def blob_bytes(self) -> int:
        """Return the size of the blob that `seal` would return."""
        return layout.BLOB_HEADER.size + len(self.names) + self.pending_bytes() + layout.CRC.size

    def take_part(self, wall_ms: int, clock: int) -> bytes:
        """Return what was recorded since the last part, as a blob: the batch stays as it is.

        The parts of a batch have its number and follow each other in their sequence numbers. A name
        stands in the first of them that needs it.
        """
        records = self.records.getvalue()
        blob = self._blob(
            wall_ms,
            clock,
            self.next_sequence + self.parts_count,
            self.record_count - self.parts_count,
            bytes(self.names[self.parts_names_bytes :]),
            records,
        )
        self.parts.append(records)
        self.parts_bytes += len(records)
        self.parts_count = self.record_count
        self.parts_names_bytes = len(self.names)
        self.records = BytesWriter()
        self.lazy = False
        return blob

    def seal(self, wall_ms: int, clock: int) -> bytes | None:
        """End the batch and return its blob; None when nothing was recorded.

        `wall_ms` is the time in milliseconds since 1970, and `clock` how good it is (CLOCKS).
        """
        if not self.record_count:
            self.batch_number += 1
            return None
        self.parts.append(self.records.getvalue())
        records = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        blob = self._blob(
            wall_ms, clock, self.next_sequence, self.record_count, bytes(self.names), records
        )
        self.state.time.sealed(self.state.time.time_ms, wall_ms, clock)
        self.next_sequence += self.record_count
        self.record_count = 0
        self.records = BytesWriter()
        self.names = bytearray()
        self.parts = []
        self.parts_bytes = 0
        self.parts_count = 0
        self.parts_names_bytes = 0
        self.lazy = False
        self.batch_number += 1
        return blob

    def _blob(
        self,
        wall_ms: int,
        clock: int,
        first_sequence: int,
        record_count: int,
        names: bytes,
        records: bytes,
    ) -> bytes:
        header = layout.BLOB_HEADER.pack(
            layout.BLOB_MAGIC,
            self.store,
            self.boot,
            clock,
            wall_ms,
            self.batch_number,
            first_sequence,
            record_count,
            len(names),
            len(records),
            self.state.time.time_ms,
        )
        body = b"".join((header, names, records))
        return body + layout.CRC.pack(crc32(body))

    def _name(self, session: Session) -> int:
        """Return the session's number, and see to it that the blob can tell its client id."""
        self.record_count += 1
        if session.named_in_batch != self.batch_number:
            session.named_in_batch = self.batch_number
            client_id = session.client_id_bytes
            self.names += layout.NAME_RECORD.pack(session.number, len(client_id)) + client_id
        return session.number

    # -- sessions

    def session_opened(self, session: Session, connection: Connection) -> None:
        self._connected(layout.SESSION_OPENED, session, connection)
        self.state.session_opened(session)

    def session_resumed(self, session: Session, connection: Connection) -> None:
        self._connected(layout.SESSION_RESUMED, session, connection)
        self.state.session_resumed(session)

    def _connected(self, kind: int, session: Session, connection: Connection) -> None:
        number = self._name(session)
        address = connection.address.encode()[:255]
        self.records.write(
            layout.CONNECT_RECORD.pack(
                kind,
                number,
                0 if session.durable else 1,
                session.protocol,
                connection.keep_alive_seconds,
                session.expiry_seconds,
                len(address),
            )
            + address
        )

    def session_closed(self, session: Session, reason: int, time_ms: int) -> None:
        number = self._name(session)
        self.records.write(layout.REASON_RECORD.pack(layout.SESSION_CLOSED, number, reason))
        self.lazy = True
        self.state.session_closed(session, time_ms)

    def session_ended(self, session: Session, reason: int) -> None:
        number = self._name(session)
        self.records.write(layout.REASON_RECORD.pack(layout.SESSION_ENDED, number, reason))
        self.lazy = True
        self.state.session_ended(session)

    def expiry_changed(self, session: Session, expiry_seconds: int) -> None:
        number = self._name(session)
        self.records.write(layout.EXPIRY_RECORD.pack(layout.EXPIRY_CHANGED, number, expiry_seconds))
        self.state.expiry_changed(session, expiry_seconds)

    def session_owned(self, session: Session, username: str) -> None:
        if session.durable:
            text = username.encode()
            number = self._name(session)
            self.records.write(
                layout.OWNED_RECORD.pack(layout.SESSION_OWNED, number, len(text)) + text
            )
        self.state.session_owned(session, username)

    # -- subscriptions

    def subscribed(self, session: Session, subscription: Subscription) -> None:
        number = self._name(session)
        text = subscription.topic_filter.encode()
        self.records.write(
            layout.SUBSCRIBED_RECORD.pack(
                layout.SUBSCRIBED, number, subscription.options, subscription.identifier, len(text)
            )
            + text
        )
        self.state.subscribed(session, subscription)

    def unsubscribed(self, session: Session, topic_filter: str) -> None:
        number = self._name(session)
        text = topic_filter.encode()
        self.records.write(layout.FILTER_RECORD.pack(layout.UNSUBSCRIBED, number, len(text)) + text)
        self.state.unsubscribed(session, topic_filter)

    # -- receiving

    def message_held(self, held: Held) -> None:
        if held.session.durable:
            message = held.message
            session = self._name(held.session)
            records = self.records
            write_exchange(records, layout.MESSAGE_HELD, session, held.packet_id, message.number)
            write_contents(
                records,
                message.flags(),
                message.topic_field[2:],
                message.payload,
                properties_of(message),
            )
        self.state.message_held(held)

    def duplicate_suppressed(self, held: Held) -> None:
        if held.session.durable:
            self.records.write(
                layout.INBOUND_RECORD.pack(
                    layout.DUPLICATE_SUPPRESSED,
                    self._name(held.session),
                    held.packet_id,
                    held.message.number,
                )
            )

    def message_released(self, held: Held, matched: int) -> None:
        if held.session.durable:
            session = self._name(held.session)
            number = held.message.number
            write_exchange(self.records, layout.MESSAGE_RELEASED, session, held.packet_id, number)
            write_u32(self.records, matched)
        self.state.message_released(held)

    def message_abandoned(self, held: Held) -> None:
        if held.session.durable:
            self.records.write(
                layout.INBOUND_RECORD.pack(
                    layout.MESSAGE_ABANDONED,
                    self._name(held.session),
                    held.packet_id,
                    held.message.number,
                )
            )
        self.state.message_released(held)

    def message_published(
        self, session: Session, message: Message, origin: int, matched: int
    ) -> None:
        """A message that was not held goes out: it is in the blob before anything refers to it."""
        records = self.records
        write_head(records, layout.MESSAGE_PUBLISHED, self._name(session))
        records.append(origin)
        write_u32(records, matched)
        write_u64(records, message.number)
        write_contents(
            records,
            message.flags(),
            message.topic_field[2:],
            message.payload,
            properties_of(message),
        )
        if not message.qos:
            self.lazy = True

    # -- delivering

    def message_queued(self, delivery: Delivery, size_bytes: int) -> None:
        if delivery.session.durable:
            write_head(self.records, layout.MESSAGE_QUEUED, self._name(delivery.session))
            write_u64(self.records, delivery.message_number)
            self._place(delivery)
        self.state.message_queued(delivery, size_bytes)

    def delivery_started(self, delivery: Delivery, packet_id: int) -> None:
        if delivery.session.durable:
            session = self._name(delivery.session)
            number = delivery.message_number
            write_exchange(self.records, layout.DELIVERY_STARTED, session, packet_id, number)
            self._place(delivery)
        self.state.delivery_started(delivery, packet_id)

    def delivery_resent(self, delivery: Delivery, pubrel: bool) -> None:
        if delivery.session.durable:
            self.records.write(
                layout.RESENT_RECORD.pack(
                    layout.DELIVERY_RESENT,
                    self._name(delivery.session),
                    delivery.packet_id,
                    delivery.message_number,
                    1 if pubrel else 0,
                )
            )

    def delivery_received(self, delivery: Delivery) -> None:
        if delivery.session.durable:
            self._exchange(layout.DELIVERY_RECEIVED, delivery)
        self.state.delivery_received(delivery)

    def delivery_completed(self, delivery: Delivery) -> None:
        if delivery.session.durable:
            self._exchange(layout.DELIVERY_COMPLETED, delivery)
            self.lazy = True
        self.state.delivery_completed(delivery)

    def _place(self, delivery: Delivery) -> None:
        """Write where in its queue a delivery stands, and how it came there."""
        flags = delivery.flags
        write_delivery(
            self.records,
            flags & 0xFF,
            delivery.position,
            flags >> KEY_SHIFT,
            flags & THROUGH_ONE != 0,
        )

    def _exchange(self, kind: int, delivery: Delivery) -> None:
        """Write OUTBOUND_RECORD."""
        session = self._name(delivery.session)
        number = delivery.message_number
        write_exchange(self.records, kind, session, delivery.packet_id, number)

    def delivered_at_qos0(self, delivery: Delivery) -> None:
        if delivery.session.durable:
            self.records.write(
                layout.QOS0_RECORD.pack(
                    layout.DELIVERED_AT_QOS0,
                    self._name(delivery.session),
                    delivery.message_number,
                    delivery.position,
                )
            )
        self.state.delivery_skipped(delivery)

    def message_dropped(self, session: Session, message_number: int, reason: int) -> None:
        """A message never entered a durable session's queue."""
        if session.durable:
            self.records.write(
                layout.DROPPED_RECORD.pack(
                    layout.MESSAGE_DROPPED,
                    self._name(session),
                    message_number,
                    reason,
                    layout.NEVER_QUEUED,
                )
            )

    def waiting_dropped(self, delivery: Delivery, reason: int) -> None:
        """The front of the queue is dropped."""
        if delivery.session.durable:
            self.records.write(
                layout.DROPPED_RECORD.pack(
                    layout.MESSAGE_DROPPED,
                    self._name(delivery.session),
                    delivery.message_number,
                    reason,
                    delivery.position,
                )
            )
        self.state.delivery_skipped(delivery)

    # -- retained messages and wills

    def retained_set(self, message: Message) -> None:
        topic = message.topic_field[2:]
        self.record_count += 1
        self.records.write(
            layout.RETAINED_RECORD.pack(layout.RETAINED_SET, message.number, len(topic)) + topic
        )
        self.state.retained_set(message.topic, message)

    def retained_cleared(self, topic: str) -> None:
        text = topic.encode()
        self.record_count += 1
        self.records.write(layout.CLEARED_RECORD.pack(layout.RETAINED_CLEARED, len(text)) + text)
        self.state.retained_cleared(topic)

    def will_set(self, session: Session, will: Will) -> None:
        topic = will.topic_field[2:]
        self.records.write(
            layout.WILL_RECORD.pack(
                layout.WILL_SET,
                self._name(session),
                will.qos | (4 if will.retain else 0),
                will.delay_seconds,
                will.expiry_seconds,
                len(topic),
                len(will.payload),
                len(will.forwarded),
            )
        )
        self.records.write(topic)
        self.records.write(will.payload)
        self.records.write(will.forwarded)
        self.state.will_set(session, will)

    def will_cleared(self, session: Session, reason: int) -> None:
        number = self._name(session)
        self.records.write(layout.REASON_RECORD.pack(layout.WILL_CLEARED, number, reason))
        self.lazy = True
        self.state.will_cleared(session)

    # -- observations

    def observed(self, session: Session | None, event: str, subject: str, detail: str) -> None:
        """Write down what changed no state. Texts are cut at 1,000 bytes each."""
        number = 0
        if session is not None:
            number = self._name(session)
        else:
            self.record_count += 1
        first = subject.encode("utf-8", "replace")[:1000]
        second = detail.encode("utf-8", "replace")[:1000]
        self.records.write(
            layout.OBSERVED_RECORD.pack(
                layout.OBSERVED, number, layout.OBSERVATIONS.index(event), len(first), len(second)
            )
        )
        self.records.write(first)
        self.records.write(second)

    def broker_started(self, recovery: str, version: str, previous_boot: str) -> None:
        self.record_count += 1
        first = version.encode()[:255]
        second = previous_boot.encode()[:255]
        self.records.write(
            layout.BROKER_STARTED_RECORD.pack(
                layout.BROKER_STARTED, layout.RECOVERIES.index(recovery), len(first), len(second)
            )
        )
        self.records.write(first)
        self.records.write(second)

    def broker_stopped(self) -> None:
        self.record_count += 1
        self.records.write(layout.BROKER_STOPPED_RECORD.pack(layout.BROKER_STOPPED))


def properties_of(message: Message) -> bytes:
    """Return the properties section of a MESSAGE (see `layout`)."""
    if not message.forwarded and not message.expires_ms:
        return b""
    return layout.EXPIRES.pack(message.expires_ms) + message.forwarded
