"""Checks that each queued message is sent once and in order, and that its delivery ends once."""

from gateway.tools.audit.context import Context, Event
from gateway.tools.audit.fan_out import FanOut
from gateway.tools.audit.receiving import number_in
from gateway.tools.audit.session_state import InFlight, SessionState, Waiting


class DeliveryChecks:
    """The checks `delivery`, `identifier` and `resent` (docs/audit.md).

    Each method checks one log event.
    """

    def __init__(self, context: Context, fan_out: FanOut) -> None:
        self.context = context
        self.fan_out = fan_out

    def check_queued(self, event: Event) -> None:
        """Check the log event `message_queued`, which records a message added to a queue."""
        context = self.context
        session = context.session_of(event)
        message, position = number_in(event, "message"), number_in(event, "position")
        self._enter(session, message, position)
        if session.entered_from is None:
            session.entered_from = position
        qos = number_in(event, "qos")
        session.queue.append(Waiting(position, message, qos, context.sequence, context.epoch))

    def check_started(self, event: Event) -> None:
        """Check the log event `delivery_started`, which records a PUBLISH sent to a subscriber.

        The message must be the first in the session's queue, unless it was never queued.
        """
        context = self.context
        session = context.session_of(event)
        message, position = number_in(event, "message"), number_in(event, "position")
        packet_id = number_in(event, "packet_id")
        before = session.outbound.get(packet_id)
        if before is not None:
            context.report(
                "identifier",
                f"packet identifier {packet_id} is given to message {message} while message "
                f"{before.message} is in flight under it",
                epoch=before.epoch,
                message=message,
                session=session,
                since=before.sequence,
            )
        self._skip_to(session, position)
        if session.queue and session.queue[0].position == position:
            self._take_front(session, message)
        else:
            self._enter(session, message, position)
        session.outbound[packet_id] = InFlight(
            position, message, number_in(event, "qos"), context.sequence, context.epoch
        )

    def _enter(self, session: SessionState, message: int, position: int) -> None:
        """Check that a new queue entry has the next position in the queue, and record the entry.

        Report a finding if the position is too low (used twice) or too high (entries are lost).
        """
        expected = session.next_position
        is_firm = session.entered_from is not None and position >= session.entered_from
        if expected is None or position >= expected:
            self.fan_out.record_entry(session, message)
        if expected is not None and position != expected:
            what = (
                "has had an entry before: the message is delivered twice"
                if position < expected
                else f"comes where {expected} is due: entries between them are lost"
            )
            self.context.report(
                "delivery",
                f"position {position} of the queue, message {message}, {what}",
                epoch=self.context.epoch if is_firm else self.context.epoch - 1,
                message=message,
                session=session,
            )
        session.next_position = max(position + 1, expected or 0)

    def _skip_to(self, session: SessionState, position: int) -> None:
        """Remove all queue entries before `position`, and report their messages as undelivered."""
        while session.queue and session.queue[0].position < position:
            lost = session.queue.popleft()
            self.context.report(
                "delivery",
                f"message {lost.message} waited and was passed over: neither delivered nor dropped",
                epoch=lost.epoch,
                message=lost.message,
                session=session,
                since=lost.sequence,
            )

    def _take_front(self, session: SessionState, message: int) -> None:
        front = session.queue.popleft()
        if front.message != message:
            self.context.report(
                "delivery",
                f"position {front.position} was queued for message {front.message} and is used "
                f"for message {message}",
                epoch=front.epoch,
                message=front.message,
                session=session,
                since=front.sequence,
            )

    def check_resent(self, event: Event) -> None:
        """Check the log event `delivery_resent`, which records a repeated PUBLISH or PUBREL."""
        delivery = self._in_flight(event, "resent")
        is_pubrel = event["packet"] == "pubrel"
        if delivery is not None and delivery.is_received != is_pubrel:
            expected = "PUBREL" if delivery.is_received else "PUBLISH"
            self._wrong(event, "resent", delivery, f"{event['packet']} where {expected} is due")

    def check_received(self, event: Event) -> None:
        """Check the log event `delivery_received`, which records a PUBREC from a subscriber."""
        delivery = self._in_flight(event, "resent")
        if delivery is None:
            return
        if delivery.qos != 2 or delivery.is_received:
            why = "a second time" if delivery.is_received else f"at QoS {delivery.qos}"
            self._wrong(event, "resent", delivery, f"PUBREC recorded {why}")
        delivery.is_received = True

    def check_completed(self, event: Event) -> None:
        """Check the log event `delivery_completed`, which records the end of a delivery.

        At QoS 1 and 2, an acknowledgement from the subscriber ended the delivery. If the packet
        identifier is 0, a QoS 0 message was sent from the queue.
        """
        if not event["packet_id"]:
            self._completed_at_qos0(event)
            return
        delivery = self._in_flight(event, "delivery")
        if delivery is None:
            return
        session = self.context.session_of(event)
        del session.outbound[number_in(event, "packet_id")]
        counts = self.context.counts
        if delivery.is_dropped:
            return  # `message_dropped` ended the delivery; this event frees the identifier
        if delivery.qos == 2 and not delivery.is_received:
            counts.refused += 1
            if not session.may_be_5:
                # Only a client of MQTT 5.0 can refuse a message, with an error in PUBREC.
                self._wrong(event, "delivery", delivery, "completed before its PUBREC")
        else:
            counts.completed += 1

    def _completed_at_qos0(self, event: Event) -> None:
        session = self.context.session_of(event)
        message = number_in(event, "message")
        self.context.counts.completed += 1
        if not self._take_waiting(session, message):
            self._nothing_waits(event, session, message)

    def check_dropped(self, event: Event) -> None:
        """Check the log event `message_dropped`, which records a message dropped for a session.

        After this event, the session must not receive the message.
        """
        session = self.context.session_of(event)
        message, reason = number_in(event, "message"), str(event["reason"])
        counts = self.context.counts
        if reason == "expired":
            counts.expired += 1
        else:
            counts.dropped += 1
        if reason.startswith("queue_") or reason == "refused":
            self.fan_out.record_entry(session, message)
            return
        if self._take_waiting(session, message):
            return
        release = self.fan_out.release
        if reason == "too_large" and release is not None and release.message == message:
            self.fan_out.record_entry(session, message)
            return
        for delivery in session.outbound.values():
            if delivery.message == message and not (delivery.is_received or delivery.is_dropped):
                delivery.is_dropped = True
                return
        if reason == "too_large":
            self.fan_out.record_entry(session, message)
        else:
            self._nothing_waits(event, session, message)

    def _take_waiting(self, session: SessionState, message: int) -> bool:
        if session.queue and session.queue[0].message == message:
            session.queue.popleft()
            return True
        # After a break, changes at the front may be missing from the log.
        for skipped, waiting in enumerate(session.queue):
            if waiting.epoch == self.context.epoch:
                break
            if waiting.message == message:
                self._skip_to(session, session.queue[skipped].position)
                session.queue.popleft()
                return True
        return False

    def _nothing_waits(self, event: Event, session: SessionState, message: int) -> None:
        self.context.report(
            "delivery",
            f"{event['event']} of message {message}, which does not wait at the front of the queue",
            epoch=session.epoch,
            message=message,
            session=session,
        )

    def _in_flight(self, event: Event, check: str) -> InFlight | None:
        session = self.context.session_of(event)
        packet_id, message = number_in(event, "packet_id"), number_in(event, "message")
        delivery = session.outbound.get(packet_id)
        if delivery is not None and delivery.message == message:
            return delivery
        found = "nothing" if delivery is None else f"message {delivery.message}"
        self.context.report(
            check,
            f"{event['event']} of message {message}, but {found} is in flight under packet "
            f"identifier {packet_id}",
            epoch=session.epoch if delivery is None else delivery.epoch,
            message=message,
            session=session,
        )
        return None

    def _wrong(self, event: Event, check: str, delivery: InFlight, detail: str) -> None:
        self.context.report(
            check,
            f"message {delivery.message}: {detail}",
            epoch=delivery.epoch,
            message=delivery.message,
            session=self.context.session_of(event),
            since=delivery.sequence,
        )
