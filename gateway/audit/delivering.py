"""From a queue to a subscriber: started once and in order, completed or dropped once."""

from gateway.audit.books import InFlight, SessionBook, Waiting
from gateway.audit.context import Context, Event
from gateway.audit.fan_out import FanOut
from gateway.audit.receiving import number_in


class Delivering:
    """The laws `delivery`, `identifier` and `resent`."""

    def __init__(self, context: Context, fan_out: FanOut) -> None:
        self.context = context
        self.fan_out = fan_out

    def queued(self, event: Event) -> None:
        """An entry at the end of the queue."""
        context = self.context
        book = context.book_of(event)
        message, position = number_in(event, "message"), number_in(event, "position")
        self._enter(book, message, position)
        if book.entered_from is None:
            book.entered_from = position
        qos = number_in(event, "qos")
        book.queue.append(Waiting(position, message, qos, context.sequence, context.epoch))

    def started(self, event: Event) -> None:
        """PUBLISH to the subscriber, from the queue or at once."""
        context = self.context
        book = context.book_of(event)
        message, position = number_in(event, "message"), number_in(event, "position")
        packet_id = number_in(event, "packet_id")
        before = book.outbound.get(packet_id)
        if before is not None:
            context.report(
                "identifier",
                f"packet identifier {packet_id} is given to message {message} while message "
                f"{before.message} is in flight under it",
                epoch=before.epoch,
                message=message,
                session=book,
                since=before.sequence,
            )
        self._skip_to(book, position)
        if book.queue and book.queue[0].position == position:
            self._take_front(book, message)
        else:
            self._enter(book, message, position)
        book.outbound[packet_id] = InFlight(
            position, message, number_in(event, "qos"), context.sequence, context.epoch
        )

    def _enter(self, book: SessionBook, message: int, position: int) -> None:
        """A new entry takes the next position of its session's queue."""
        expected = book.next_position
        is_firm = book.entered_from is not None and position >= book.entered_from
        if expected is None or position >= expected:
            self.fan_out.entry(book, message)
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
                session=book,
            )
        book.next_position = max(position + 1, expected or 0)

    def _skip_to(self, book: SessionBook, position: int) -> None:
        """A queue is taken from its front: what a start passes over will never be delivered."""
        while book.queue and book.queue[0].position < position:
            lost = book.queue.popleft()
            self.context.report(
                "delivery",
                f"message {lost.message} waited and was passed over: neither delivered nor dropped",
                epoch=lost.epoch,
                message=lost.message,
                session=book,
                since=lost.sequence,
            )

    def _take_front(self, book: SessionBook, message: int) -> None:
        front = book.queue.popleft()
        if front.message != message:
            self.context.report(
                "delivery",
                f"position {front.position} was queued for message {front.message} and is used "
                f"for message {message}",
                epoch=front.epoch,
                message=front.message,
                session=book,
                since=front.sequence,
            )

    def resent(self, event: Event) -> None:
        """PUBLISH or PUBREL once more."""
        delivery = self._in_flight(event, "resent")
        is_pubrel = event["packet"] == "pubrel"
        if delivery is not None and delivery.is_received != is_pubrel:
            expected = "PUBREL" if delivery.is_received else "PUBLISH"
            self._wrong(event, "resent", delivery, f"{event['packet']} where {expected} is due")

    def received(self, event: Event) -> None:
        """PUBREC from the subscriber."""
        delivery = self._in_flight(event, "resent")
        if delivery is None:
            return
        if delivery.qos != 2 or delivery.is_received:
            why = "a second time" if delivery.is_received else f"at QoS {delivery.qos}"
            self._wrong(event, "resent", delivery, f"PUBREC recorded {why}")
        delivery.is_received = True

    def completed(self, event: Event) -> None:
        """PUBACK or PUBCOMP; packet identifier 0: QoS 0 from the queue."""
        if not event["packet_id"]:
            self._completed_at_qos0(event)
            return
        delivery = self._in_flight(event, "delivery")
        if delivery is None:
            return
        book = self.context.book_of(event)
        del book.outbound[number_in(event, "packet_id")]
        counts = self.context.counts
        if delivery.is_dropped:
            return  # `message_dropped` was its end; this frees the identifier
        if delivery.qos == 2 and not delivery.is_received:
            counts.refused += 1
            if not book.may_be_5:
                # Only a client of MQTT 5.0 can refuse a message, with an error in PUBREC.
                self._wrong(event, "delivery", delivery, "completed before its PUBREC")
        else:
            counts.completed += 1

    def _completed_at_qos0(self, event: Event) -> None:
        book = self.context.book_of(event)
        message = number_in(event, "message")
        self.context.counts.completed += 1
        if not self._take_waiting(book, message):
            self._nothing_waits(event, book, message)

    def dropped(self, event: Event) -> None:
        """The message will not reach this session; or, in flight, not any more."""
        book = self.context.book_of(event)
        message, reason = number_in(event, "message"), str(event["reason"])
        counts = self.context.counts
        if reason == "expired":
            counts.expired += 1
        else:
            counts.dropped += 1
        if reason.startswith("queue_"):
            self.fan_out.entry(book, message)
            return
        if self._take_waiting(book, message):
            return
        run = self.fan_out.run
        if reason == "too_large" and run is not None and run.message == message:
            self.fan_out.entry(book, message)
            return
        for delivery in book.outbound.values():
            if delivery.message == message and not (delivery.is_received or delivery.is_dropped):
                delivery.is_dropped = True
                return
        if reason == "too_large":
            self.fan_out.entry(book, message)
        else:
            self._nothing_waits(event, book, message)

    def _take_waiting(self, book: SessionBook, message: int) -> bool:
        if book.queue and book.queue[0].message == message:
            book.queue.popleft()
            return True
        # After a break the front may have gone unseen.
        for skipped, waiting in enumerate(book.queue):
            if waiting.epoch == self.context.epoch:
                break
            if waiting.message == message:
                self._skip_to(book, book.queue[skipped].position)
                book.queue.popleft()
                return True
        return False

    def _nothing_waits(self, event: Event, book: SessionBook, message: int) -> None:
        self.context.report(
            "delivery",
            f"{event['event']} of message {message}, which does not wait at the front of the queue",
            epoch=book.epoch,
            message=message,
            session=book,
        )

    def _in_flight(self, event: Event, law: str) -> InFlight | None:
        book = self.context.book_of(event)
        packet_id, message = number_in(event, "packet_id"), number_in(event, "message")
        delivery = book.outbound.get(packet_id)
        if delivery is not None and delivery.message == message:
            return delivery
        found = "nothing" if delivery is None else f"message {delivery.message}"
        self.context.report(
            law,
            f"{event['event']} of message {message}, but {found} is in flight under packet "
            f"identifier {packet_id}",
            epoch=book.epoch if delivery is None else delivery.epoch,
            message=message,
            session=book,
        )
        return None

    def _wrong(self, event: Event, law: str, delivery: InFlight, detail: str) -> None:
        self.context.report(
            law,
            f"message {delivery.message}: {detail}",
            epoch=delivery.epoch,
            message=delivery.message,
            session=self.context.book_of(event),
            since=delivery.sequence,
        )
