"""Records facts, which are changes of the state, with one method for each kind of fact.

Each method writes the fact to the current batch and applies it to the state, so every change is
recorded. Some facts about clean sessions are applied, but not written. Observations are events that
change no state, so they are only written.
"""

from gateway.broker.core.records import writer
from gateway.broker.core.records.batch import Batch
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
from gateway.broker.core.sessions.message import Delivery, Held, Message, Will
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.state import State


class Recorder(Batch):
    """Recorder of facts, which are changes of the state.

    It writes each fact to the current batch, and applies it to the state.
    """

    def __init__(
        self, state: State, store: bytes, boot: bytes, batch_number: int, next_sequence: int
    ) -> None:
        super().__init__(state.time, store, boot, batch_number, next_sequence)
        self.state = state

    # -- sessions

    def session_opened(self, session: Session, connection: Connection) -> None:
        self._begin_record(session)
        writer.write_connected(self.records, RecordKind.SESSION_OPENED, session, connection)
        self.state.session_opened(session)

    def session_resumed(self, session: Session, connection: Connection) -> None:
        self._begin_record(session)
        writer.write_connected(self.records, RecordKind.SESSION_RESUMED, session, connection)
        self.state.session_resumed(session)

    def session_closed(self, session: Session, reason: CloseReason, time_ms: int) -> None:
        number = self._begin_record(session)
        writer.write_ended(self.records, RecordKind.SESSION_CLOSED, number, reason)
        self.lazy = True
        self.state.session_closed(session, time_ms)

    def session_ended(self, session: Session, reason: EndReason) -> None:
        number = self._begin_record(session)
        writer.write_ended(self.records, RecordKind.SESSION_ENDED, number, reason)
        self.lazy = True
        self.state.session_ended(session)

    def expiry_changed(self, session: Session, expiry_seconds: int) -> None:
        writer.write_expiry(self.records, self._begin_record(session), expiry_seconds)
        self.state.expiry_changed(session, expiry_seconds)

    def session_owned(self, session: Session, username: str) -> None:
        if session.persistent:
            writer.write_owned(self.records, self._begin_record(session), username)
        self.state.session_owned(session, username)

    # -- subscriptions

    def subscribed(self, session: Session, subscription: Subscription) -> None:
        writer.write_subscribed(self.records, self._begin_record(session), subscription)
        self.state.subscribed(session, subscription)

    def unsubscribed(self, session: Session, topic_filter: str) -> None:
        writer.write_unsubscribed(self.records, self._begin_record(session), topic_filter)
        self.state.unsubscribed(session, topic_filter)

    # -- receiving

    def message_held(self, held: Held) -> None:
        if held.session.persistent:
            writer.write_held(
                self.records, self._begin_record(held.session), held.packet_id, held.message
            )
        self.state.message_held(held)

    def duplicate_suppressed(self, held: Held) -> None:
        self._inbound(RecordKind.DUPLICATE_SUPPRESSED, held)

    def message_released(self, held: Held, matched: int) -> None:
        if held.session.persistent:
            number = self._begin_record(held.session)
            writer.write_released(
                self.records, number, held.packet_id, held.message.number, matched
            )
        self.state.message_released(held)

    def message_abandoned(self, held: Held) -> None:
        self._inbound(RecordKind.MESSAGE_ABANDONED, held)
        self.state.message_released(held)

    def _inbound(self, kind: RecordKind, held: Held) -> None:
        if held.session.persistent:
            number = self._begin_record(held.session)
            writer.write_exchange(self.records, kind, number, held.packet_id, held.message.number)

    def message_published(
        self, session: Session, message: Message, origin: Origin, matched: int
    ) -> None:
        """Record a published message, including its contents.

        Do not call this if `message_held` has recorded the message. Call this before other records
        refer to the message.
        """
        writer.write_published(self.records, self._begin_record(session), message, origin, matched)
        if not message.qos:
            self.lazy = True

    # -- delivering

    def message_queued(self, delivery: Delivery, size_bytes: int) -> None:
        if delivery.session.persistent:
            writer.write_queued(self.records, self._begin_record(delivery.session), delivery)
        self.state.message_queued(delivery, size_bytes)

    def delivery_started(self, delivery: Delivery, packet_id: int) -> None:
        if delivery.session.persistent:
            writer.write_started(
                self.records, self._begin_record(delivery.session), delivery, packet_id
            )
        self.state.delivery_started(delivery, packet_id)

    def delivery_resent(self, delivery: Delivery, pubrel: bool) -> None:
        if delivery.session.persistent:
            number = self._begin_record(delivery.session)
            message = delivery.message_number
            writer.write_resent(self.records, number, delivery.packet_id, message, pubrel)

    def delivery_received(self, delivery: Delivery) -> None:
        if delivery.session.persistent:
            self._outbound(RecordKind.DELIVERY_RECEIVED, delivery)
        self.state.delivery_received(delivery)

    def delivery_completed(self, delivery: Delivery) -> None:
        if delivery.session.persistent:
            self._outbound(RecordKind.DELIVERY_COMPLETED, delivery)
            self.lazy = True
        self.state.delivery_completed(delivery)

    def _outbound(self, kind: RecordKind, delivery: Delivery) -> None:
        number = self._begin_record(delivery.session)
        packet_id, message = delivery.packet_id, delivery.message_number
        writer.write_exchange(self.records, kind, number, packet_id, message)

    def delivered_at_qos0(self, delivery: Delivery) -> None:
        if delivery.session.persistent:
            number = self._begin_record(delivery.session)
            writer.write_delivered_at_qos0(
                self.records, number, delivery.message_number, delivery.position
            )
        self.state.delivery_skipped(delivery)

    def message_dropped(self, session: Session, message_number: int, reason: DropReason) -> None:
        """Record that a message for a persistent session was dropped.

        If the message is in the session's queue, use `waiting_dropped` instead.
        """
        if session.persistent:
            number = self._begin_record(session)
            writer.write_dropped(self.records, number, message_number, reason, writer.NO_POSITION)

    def waiting_dropped(self, delivery: Delivery, reason: DropReason) -> None:
        """Remove the first delivery from a session's queue, and record that it was dropped."""
        if delivery.session.persistent:
            number = self._begin_record(delivery.session)
            writer.write_dropped(
                self.records, number, delivery.message_number, reason, delivery.position
            )
        self.state.delivery_skipped(delivery)

    # -- retained messages and wills

    def retained_set(self, message: Message) -> None:
        self.record_count += 1
        source = b"" if message.source is None else message.source.text().encode()
        writer.write_retained(self.records, message.number, message.topic_field[2:], source)
        self.state.retained_set(message.topic, message)

    def retained_cleared(self, topic: str) -> None:
        self.record_count += 1
        writer.write_retained_cleared(self.records, topic.encode())
        self.state.retained_cleared(topic)

    def will_set(self, session: Session, will: Will) -> None:
        writer.write_will(self.records, self._begin_record(session), will)
        self.state.will_set(session, will)

    def will_cleared(self, session: Session, reason: WillClearReason) -> None:
        number = self._begin_record(session)
        writer.write_ended(self.records, RecordKind.WILL_CLEARED, number, reason)
        self.lazy = True
        self.state.will_cleared(session)

    # -- observations

    def observed(
        self, session: Session | None, event: Observation, subject: str, detail: str
    ) -> None:
        """Record an observation: an event that does not change the state."""
        number = 0
        if session is not None:
            number = self._begin_record(session)
        else:
            self.record_count += 1
        writer.write_observed(self.records, number, event, subject, detail)

    def broker_started(self, recovery: StartKind, version: str, previous_boot: str) -> None:
        self.record_count += 1
        writer.write_broker_started(self.records, recovery, version, previous_boot)

    def broker_stopped(self) -> None:
        self.record_count += 1
        writer.write_broker_stopped(self.records)
