"""Replays the journal during recovery, by applying the facts of each blob to the state again.

A blob is a block of journal records. A fact is a recorded change of the state. An interrupted
checkpoint may already have written some of the changes to the tables. Therefore, it must be
possible to apply a fact whose value has already been set or removed, or whose session has already
ended.
"""

from collections.abc import Callable

from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.kinds import RecordKind
from gateway.broker.core.records.layout import NEVER_QUEUED
from gateway.broker.core.records.lost import LostMessages
from gateway.broker.core.records.reader import records_of
from gateway.broker.core.records.record import (
    BrokerStarted,
    Connected,
    Contents,
    Dropped,
    Ended,
    Exchange,
    ExpiryChanged,
    Filter,
    Owned,
    QueueRecord,
    Record,
    Retained,
    WillSet,
)
from gateway.broker.core.sessions.message import (
    HAS_PLACE,
    KEY_SHIFT,
    QOS,
    RETAIN,
    Delivery,
    Held,
    Message,
    Will,
)
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.source import Sources
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.state import State
from gateway.broker.wire.values import topic_field_of


class Replay:
    """Replay of the journal's blobs, in order, starting from the state in the tables."""

    def __init__(self, state: State, now: float, load: Callable[[int], Message | None]) -> None:
        self.state = state
        self.now = now
        self.load = load
        """Function that loads a message from the tables, by number."""
        self.messages: dict[int, Message] = {}
        """Messages found in the journal, by number."""
        self.next_sequence = 1
        self.next_message = 1
        """The next message number according to the journal. The tables may contain later messages
        from an interrupted checkpoint."""
        self.next_batch = 1
        self.boot = ""
        self.facts_applied = 0
        self.sources = Sources()
        self.lost = LostMessages()
        self._time_is_loaded = state.time.time_ms > 0

    def note(self, blob: Blob) -> None:
        """Process only the header of a blob, because the blob's facts are already in the tables."""
        self._advance_to(blob)
        if not self._time_is_loaded:
            self._set_time(blob)

    def _advance_to(self, blob: Blob) -> None:
        # Never less than at the checkpoint: damage may have destroyed the newest blobs, but not
        # the tables.
        self.next_sequence = max(self.next_sequence, blob.first_sequence + blob.record_count)
        self.next_batch = blob.number + 1
        self.boot = blob.boot

    def _set_time(self, blob: Blob) -> None:
        self.state.time.sealed(blob.gateway_ms, blob.time_ms, blob.clock)

    def apply(self, blob: Blob) -> None:
        """Apply every fact of a blob to the state."""
        self._advance_to(blob)
        for record in records_of(blob):
            self._apply(blob, record)
        self._set_time(blob)
        self.facts_applied += blob.record_count

    def _apply(self, blob: Blob, record: Record) -> None:
        session = self.state.numbers.get(record.session) if record.session else None
        if session is None and record.session:
            self._note_unknown(record, blob)
        match record:
            case Contents():
                self._contents(record, session)
            case Exchange():
                self._exchange(record, session)
            case QueueRecord():
                self._apply_position(record, session)
            case Dropped():
                self._dropped(record, session)
            case Retained():
                self._retained(record)
            case WillSet():
                client_id = blob.names[record.session]
                self._will_set(record, session or Session(record.session, client_id, False))
            case BrokerStarted():
                self.state.time.run_began(blob.gateway_ms, self.next_message)
            case Connected():
                self._connected(record, session, blob)
            case Ended():
                self._ended(record, session, blob)
            case _ if session is not None:
                self._session_changed(record, session)

    def _note_unknown(self, record: Record, blob: Blob) -> None:
        self.lost.note(record, blob.names.get(record.session, ""))
        # A session number in the journal is never used for another session.
        state = self.state
        state.next_session_number = max(state.next_session_number, record.session + 1)

    def _connected(self, record: Connected, session: Session | None, blob: Blob) -> None:
        if record.kind is RecordKind.SESSION_OPENED:
            # Also if an interrupted checkpoint wrote the session's row: from here on the client id
            # belongs to this session.
            session = session or Session(
                record.session, blob.names[record.session], not record.clean
            )
            self.state.session_opened(session)
        elif session is not None:
            self.state.session_resumed(session)
        if session is not None:
            session.protocol = record.protocol
            session.expiry_seconds = record.expiry_seconds

    def _ended(self, record: Ended, session: Session | None, blob: Blob) -> None:
        if record.kind is RecordKind.WILL_CLEARED:
            owner = self.state.wills.get(record.session)
            if owner is not None:
                self.state.will_cleared(owner)
        elif record.kind is RecordKind.SESSION_CLOSED:
            if session is not None:
                self.state.session_closed(session, blob.gateway_ms)
        elif session is not None:
            self.state.session_ended(session)
        else:
            self.state.changes.ended.append(record.session)

    def _session_changed(self, record: Record, session: Session) -> None:
        if isinstance(record, Filter):
            if record.kind is RecordKind.SUBSCRIBED:
                subscription = Subscription(record.topic_filter, record.options, record.identifier)
                self.state.subscribed(session, subscription)
            else:
                self.state.unsubscribed(session, record.topic_filter)
        elif isinstance(record, ExpiryChanged):
            self.state.expiry_changed(session, record.expiry_seconds)
        elif isinstance(record, Owned):
            self.state.session_owned(session, record.username)

    def _contents(self, record: Contents, session: Session | None) -> None:
        number = record.message
        message = Message(
            number,
            record.topic,
            topic_field_of(record.topic),
            record.payload,
            record.flags & QOS,
            record.flags & RETAIN != 0,
            record.forwarded,
            record.expires_ms,
        )
        message.has_place = record.flags & HAS_PLACE != 0
        message.batch = 0
        message.owner = None if session is None else session.owner
        self.messages[number] = message
        self.next_message = max(self.next_message, number + 1)
        self.state.next_message_number = max(self.state.next_message_number, number + 1)
        if record.kind is RecordKind.MESSAGE_HELD and session is not None:
            held = Held(session, record.packet_id, message, self.now)
            held.stored = True  # perhaps by an interrupted checkpoint
            self.state.message_held(held)

    def _exchange(self, record: Exchange, session: Session | None) -> None:
        if session is None:
            return
        kind, packet_id = record.kind, record.packet_id
        if kind is RecordKind.MESSAGE_RELEASED or kind is RecordKind.MESSAGE_ABANDONED:
            held = session.inbound.get(packet_id)
            if held is not None:
                self.messages[held.message.number] = held.message
                self.state.message_released(held)
        elif kind is RecordKind.DELIVERY_RECEIVED:
            delivery = session.outbound.get(packet_id)
            if delivery is not None:
                self.state.delivery_received(delivery)
        elif kind is RecordKind.DELIVERY_COMPLETED:
            delivery = session.outbound.get(packet_id)
            if delivery is not None:
                self.state.delivery_completed(delivery)

    def _apply_position(self, record: QueueRecord, session: Session | None) -> None:
        if session is None:
            return
        number, position = record.message, record.position
        self.lost.skip(session.number, position - session.next_position)
        if record.kind is RecordKind.DELIVERED_AT_QOS0:
            self._skip(session, number, position)
            return
        flags = record.flags | record.key << KEY_SHIFT
        if record.kind is RecordKind.DELIVERY_STARTED:
            delivery = session.front()
            if delivery is None or delivery.position != position:
                delivery = self._delivery(session, number, flags, position)
            self.state.delivery_started(delivery, record.packet_id)
        elif position >= session.next_position:
            delivery = self._delivery(session, number, flags, position)
            message = delivery.message
            self.state.message_queued(delivery, 0 if message is None else message.size_bytes())

    def _dropped(self, record: Dropped, session: Session | None) -> None:
        if record.position != NEVER_QUEUED:
            self._skip(session, record.message, record.position)

    def _delivery(self, session: Session, number: int, flags: int, position: int) -> Delivery:
        delivery = Delivery(session, self.messages.get(number), number, flags, position)
        delivery.stored = True  # perhaps by an interrupted checkpoint
        return delivery

    def _skip(self, session: Session | None, number: int, position: int) -> None:
        if session is None:
            return
        waiting = session.front()
        if waiting is None or waiting.position != position:
            waiting = self._delivery(session, number, 0, position)
        self.state.delivery_skipped(waiting)

    def _retained(self, record: Retained) -> None:
        if record.kind is RecordKind.RETAINED_CLEARED:
            self.state.retained_cleared(record.topic)
            return
        message = self.messages.get(record.message) or self.load(record.message)
        if message is not None:
            source = message.source = self.sources.source_in(record.source)
            if source is not None and source.username:
                message.owner = self.state.owners.get(source.username)
            self.state.retained_set(message.topic, message)

    def _will_set(self, record: WillSet, owner: Session) -> None:
        will = Will(
            record.topic,
            topic_field_of(record.topic),
            record.payload,
            record.flags & QOS,
            record.flags & RETAIN != 0,
            record.delay_seconds,
            record.expiry_seconds,
            record.forwarded,
        )
        self.state.will_set(owner, will)

    def finish(self) -> None:
        """Complete the replay by ending the clean sessions, which do not survive a restart.

        Also mark for deletion all queue rows that an interrupted checkpoint may have left behind.
        """
        self.state.changes.trimmed |= self.state.changes.sessions
        for session in list(self.state.numbers.values()):
            if not session.persistent:
                self.state.session_ended(session)
