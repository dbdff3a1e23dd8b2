"""Recovery's half of the journal: the facts of a blob, applied once more.

The tables may already hold part of what a blob tells (a checkpoint was cut short), so every fact is
applied blindly: what it sets may be there already, what it removes may be gone, and a session it
speaks of may have ended later in the journal.
"""

from collections.abc import Callable

from gateway.core.records import layout
from gateway.core.records.reader import Blob
from gateway.core.sessions.message import (
    HAS_PLACE,
    KEY_SHIFT,
    THROUGH_ONE,
    Delivery,
    Held,
    Message,
    Will,
)
from gateway.core.sessions.session import Session
from gateway.core.sessions.subscription import Subscription
from gateway.core.state import State
from gateway.wire.values import topic_field_of


class Replay:
    """Applies blobs in order to a state that was loaded from the tables."""

    def __init__(self, state: State, now: float, load: Callable[[int], Message | None]) -> None:
        self.state = state
        self.now = now
        self.load = load
        """Reads a message's contents from the tables, by number."""
        self.messages: dict[int, Message] = {}
        """Contents seen in the journal, by number."""
        self.next_sequence = 1
        self.next_message = 1
        """The number of the next message as far as the journal tells. The tables may already know
        later ones, of a checkpoint that was cut short."""
        self.next_batch = 1
        self.boot = ""
        self.facts_applied = 0
        self._time_is_loaded = state.time.time_ms > 0

    def note(self, blob: Blob) -> None:
        """Remember where the journal stands; the tables hold this blob's facts already."""
        self._stand_behind(blob)
        if not self._time_is_loaded:
            self._tell_time(blob)

    def _stand_behind(self, blob: Blob) -> None:
        # Never below the checkpoint: damage may have taken the newest blobs, not the tables.
        self.next_sequence = max(self.next_sequence, blob.first_sequence + blob.record_count)
        self.next_batch = blob.number + 1
        self.boot = blob.boot

    def _tell_time(self, blob: Blob) -> None:
        if blob.has_gateway_time:
            self.state.time.sealed(blob.gateway_ms, blob.time_ms, blob.clock)
        else:
            self.state.time.sealed_by_wall_time(blob.time_ms, blob.clock)

    def apply(self, blob: Blob) -> None:
        """Apply every fact of a blob."""
        self._stand_behind(blob)
        at = blob.records_at
        for _ in range(blob.record_count):
            kind = blob.data[at]
            at = self._apply_record(blob, kind, at)
        self._tell_time(blob)
        self.facts_applied += blob.record_count

    def _apply_record(self, blob: Blob, kind: int, at: int) -> int:
        data = blob.data
        if kind == layout.RETAINED_SET:
            _, number, size = layout.RETAINED_RECORD.unpack_from(data, at)
            end = at + layout.RETAINED_RECORD.size + int(size)
            message = self.messages.get(number) or self.load(number)
            if message is not None:
                self.state.retained_set(message.topic, message)
            return end
        if kind == layout.RETAINED_CLEARED:
            _, size = layout.CLEARED_RECORD.unpack_from(data, at)
            end = at + layout.CLEARED_RECORD.size + int(size)
            self.state.retained_cleared(data[end - size : end].decode())
            return end
        if kind == layout.OBSERVED:
            fields = layout.OBSERVED_RECORD.unpack_from(data, at)
            return at + layout.OBSERVED_RECORD.size + int(fields[3]) + int(fields[4])
        if kind == layout.BROKER_STARTED:
            fields = layout.BROKER_STARTED_RECORD.unpack_from(data, at)
            self.state.time.run_began(blob.gateway_ms, self.next_message)
            return at + layout.BROKER_STARTED_RECORD.size + int(fields[2]) + int(fields[3])
        if kind == layout.BROKER_STOPPED:
            return at + layout.BROKER_STOPPED_RECORD.size
        number = int.from_bytes(data[at + 1 : at + 5], "little")
        session = self.state.numbers.get(number)
        if kind <= layout.UNSUBSCRIBED:
            return self._apply_session_record(blob, kind, at, number, session)
        if kind in (layout.SESSION_OWNED, layout.EXPIRY_CHANGED):
            return self._apply_property_record(blob, kind, at, session)
        if kind in (layout.WILL_SET, layout.WILL_CLEARED):
            return self._apply_will_record(blob, kind, at, number, session)
        if kind in (layout.MESSAGE_HELD, layout.MESSAGE_PUBLISHED):
            return self._apply_message_record(blob, kind, at, session)
        if kind in (layout.MESSAGE_RELEASED, layout.MESSAGE_ABANDONED, layout.DUPLICATE_SUPPRESSED):
            return self._apply_inbound_record(blob, kind, at, session)
        return self._apply_delivery_record(blob, kind, at, session)

    def _apply_session_record(
        self, blob: Blob, kind: int, at: int, number: int, session: Session | None
    ) -> int:
        data, state = blob.data, self.state
        if kind in (layout.SESSION_OPENED, layout.SESSION_RESUMED):
            fields = layout.CONNECT_RECORD.unpack_from(data, at)
            if kind == layout.SESSION_OPENED:
                # Also one whose row a cut checkpoint wrote: the client id is its from here on.
                session = session or Session(number, blob.names[number], not fields[2])
                state.session_opened(session)
            elif session is not None:
                state.session_resumed(session)
            if session is not None:
                session.protocol = fields[3]
                session.expiry_seconds = fields[5]
            return at + layout.CONNECT_RECORD.size + int(fields[6])
        if kind in (layout.SESSION_CLOSED, layout.SESSION_ENDED):
            if session is not None and kind == layout.SESSION_CLOSED:
                state.session_closed(session, blob.gateway_ms)
            elif session is not None:
                state.session_ended(session)
            elif kind == layout.SESSION_ENDED:
                state.changes.ended.append(number)
            return at + layout.REASON_RECORD.size
        if kind == layout.SUBSCRIBED:
            _, _, options, identifier, size = layout.SUBSCRIBED_RECORD.unpack_from(data, at)
            end = at + layout.SUBSCRIBED_RECORD.size + int(size)
            topic_filter = data[end - size : end].decode()
            if session is not None:
                state.subscribed(session, Subscription(topic_filter, options, identifier))
            return end
        _, _, size = layout.FILTER_RECORD.unpack_from(data, at)
        end = at + layout.FILTER_RECORD.size + int(size)
        if session is not None:
            state.unsubscribed(session, data[end - size : end].decode())
        return end

    def _apply_property_record(
        self, blob: Blob, kind: int, at: int, session: Session | None
    ) -> int:
        data, state = blob.data, self.state
        if kind == layout.EXPIRY_CHANGED:
            if session is not None:
                state.expiry_changed(session, layout.EXPIRY_RECORD.unpack_from(data, at)[2])
            return at + layout.EXPIRY_RECORD.size
        _, _, size = layout.OWNED_RECORD.unpack_from(data, at)
        end = at + layout.OWNED_RECORD.size + int(size)
        if session is not None:
            state.session_owned(session, data[end - size : end].decode())
        return end

    def _apply_message_record(self, blob: Blob, kind: int, at: int, session: Session | None) -> int:
        data = blob.data
        record = layout.HELD_RECORD if kind == layout.MESSAGE_HELD else layout.PUBLISHED_RECORD
        fields = record.unpack_from(data, at)
        number, flags, topic_bytes, payload_bytes, properties_bytes = fields[-5:]
        topic_at = at + record.size
        payload_at = topic_at + int(topic_bytes)
        topic = data[topic_at:payload_at].decode()
        message = Message(
            number,
            topic,
            topic_field_of(topic),
            data[payload_at : payload_at + payload_bytes],
            flags & 3,
            bool(flags & 4),
        )
        end = payload_at + int(payload_bytes) + int(properties_bytes)
        if properties_bytes:
            message.expires_ms, message.forwarded = properties_in(
                data[end - properties_bytes : end]
            )
        message.has_place = bool(flags & HAS_PLACE)
        message.batch = 0
        self.messages[number] = message
        self.next_message = max(self.next_message, number + 1)
        self.state.next_message_number = max(self.state.next_message_number, number + 1)
        if kind == layout.MESSAGE_HELD and session is not None:
            held = Held(session, fields[2], message, self.now)
            held.stored = True  # by a checkpoint that was cut, perhaps
            self.state.message_held(held)
        return end

    def _apply_inbound_record(self, blob: Blob, kind: int, at: int, session: Session | None) -> int:
        record = (
            layout.RELEASED_RECORD if kind == layout.MESSAGE_RELEASED else layout.INBOUND_RECORD
        )
        fields = record.unpack_from(blob.data, at)
        if kind != layout.DUPLICATE_SUPPRESSED and session is not None:
            held = session.inbound.get(fields[2])
            if held is not None:
                self.messages[held.message.number] = held.message
                self.state.message_released(held)
        return at + record.size

    def _apply_delivery_record(
        self, blob: Blob, kind: int, at: int, session: Session | None
    ) -> int:
        data = blob.data
        if kind == layout.MESSAGE_QUEUED:
            _, _, number, flags, position = layout.QUEUED_RECORD.unpack_from(data, at)
            end, flags = _with_key(data, at + layout.QUEUED_RECORD.size, flags)
            if session is not None and position >= session.next_position:
                self._queue(session, number, flags, position)
            return end
        if kind == layout.DELIVERY_STARTED:
            _, _, packet_id, number, flags, position = layout.STARTED_RECORD.unpack_from(data, at)
            end, flags = _with_key(data, at + layout.STARTED_RECORD.size, flags)
            if session is not None:
                self._start(session, packet_id, number, flags, position)
            return end
        if kind in (layout.DELIVERY_RECEIVED, layout.DELIVERY_COMPLETED):
            fields = layout.OUTBOUND_RECORD.unpack_from(data, at)
            delivery = session.outbound.get(fields[2]) if session is not None else None
            if delivery is not None and kind == layout.DELIVERY_RECEIVED:
                self.state.delivery_received(delivery)
            elif delivery is not None:
                self.state.delivery_completed(delivery)
            return at + layout.OUTBOUND_RECORD.size
        if kind == layout.DELIVERED_AT_QOS0:
            _, _, number, position = layout.QOS0_RECORD.unpack_from(data, at)
            self._skip(session, number, position)
            return at + layout.QOS0_RECORD.size
        if kind == layout.MESSAGE_DROPPED:
            _, _, number, _, position = layout.DROPPED_RECORD.unpack_from(data, at)
            if position != layout.NEVER_QUEUED:
                self._skip(session, number, position)
            return at + layout.DROPPED_RECORD.size
        if kind == layout.DELIVERY_RESENT:
            return at + layout.RESENT_RECORD.size
        raise AssertionError(f"a recorder of this version never writes record kind {kind}")

    def _delivery(self, session: Session, number: int, flags: int, position: int) -> Delivery:
        delivery = Delivery(session, self.messages.get(number), number, flags, position)
        delivery.stored = True  # by a checkpoint that was cut, perhaps
        return delivery

    def _queue(self, session: Session, number: int, flags: int, position: int) -> None:
        delivery = self._delivery(session, number, flags, position)
        message = delivery.message
        self.state.message_queued(delivery, 0 if message is None else message.size_bytes())

    def _start(
        self, session: Session, packet_id: int, number: int, flags: int, position: int
    ) -> None:
        waiting = session.front()
        if waiting is None or waiting.position != position:
            waiting = self._delivery(session, number, flags, position)
        self.state.delivery_started(waiting, packet_id)

    def _skip(self, session: Session | None, number: int, position: int) -> None:
        if session is None:
            return
        waiting = session.front()
        if waiting is None or waiting.position != position:
            waiting = self._delivery(session, number, 0, position)
        self.state.delivery_skipped(waiting)

    def _apply_will_record(
        self, blob: Blob, kind: int, at: int, number: int, session: Session | None
    ) -> int:
        if kind == layout.WILL_CLEARED:
            owner = self.state.wills.get(number)
            if owner is not None:
                self.state.will_cleared(owner)
            return at + layout.REASON_RECORD.size
        fields = layout.WILL_RECORD.unpack_from(blob.data, at)
        flags, delay, expiry, topic_bytes, payload_bytes, properties_bytes = fields[2:]
        topic_at = at + layout.WILL_RECORD.size
        payload_at = topic_at + int(topic_bytes)
        properties_at = payload_at + int(payload_bytes)
        end = properties_at + int(properties_bytes)
        topic = blob.data[topic_at:payload_at].decode()
        owner = session or Session(number, blob.names[number], False)
        will = Will(
            topic,
            topic_field_of(topic),
            blob.data[payload_at:properties_at],
            flags & 3,
            bool(flags & 4),
            delay,
            expiry,
            blob.data[properties_at:end],
        )
        self.state.will_set(owner, will)
        return end

    def finish(self) -> None:
        """Let go of clean sessions, and of queue rows that a cut checkpoint left behind."""
        self.state.changes.trimmed |= self.state.changes.sessions
        for session in list(self.state.numbers.values()):
            if not session.durable:
                self.state.session_ended(session)


def _with_key(data: bytes, end: int, flags: int) -> tuple[int, int]:
    """Return where a delivery's record ends, and its flags with the key that may follow it."""
    if not flags & THROUGH_ONE:
        return end, flags
    key: int = layout.KEY.unpack_from(data, end)[0]
    return end + layout.KEY.size, flags | key << KEY_SHIFT


def properties_in(section: bytes) -> tuple[int, bytes]:
    """Return when a message expires and its properties, from their section of a MESSAGE."""
    return layout.EXPIRES.unpack_from(section)[0], section[layout.EXPIRES.size :]
