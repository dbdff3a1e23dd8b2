"""From a publisher into the broker: received once, repeats suppressed, released once."""

from gateway.audit.books import Held, Marks
from gateway.audit.context import Context, Event
from gateway.audit.fan_out import FanOut


def number_in(event: Event, name: str) -> int:
    """An integer field; the segment's reader and the journal's have checked the line, not this.

    Raises ValueError.
    """
    value = event.get(name)
    if type(value) is not int or value < 0:
        raise ValueError(f"`{name}` of {event.get('event')} is {value!r}, expected a number")
    return value


class Receiving:
    """The laws `held_once`, `duplicate` and `released_once`."""

    def __init__(self, context: Context, fan_out: FanOut) -> None:
        self.context = context
        self.fan_out = fan_out
        self._taken = Marks()
        """Message numbers that were received: each is given once."""

    def held(self, event: Event) -> None:
        """A QoS 2 PUBLISH came for the first time."""
        context = self.context
        book = context.book_of(event)
        packet_id, message = number_in(event, "packet_id"), number_in(event, "message")
        context.counts.held += 1
        before = book.held.get(packet_id)
        if before is not None:
            context.report(
                "held_once",
                f"message {before.message} was held under packet identifier {packet_id} and never "
                f"released or abandoned; now message {message} is held under it",
                epoch=before.epoch,
                message=before.message,
                session=book,
                since=before.sequence,
            )
        self._take(message, "held", book.number)
        book.held[packet_id] = Held(message, str(event["topic"]), context.sequence, context.epoch)

    def _take(self, message: int, how: str, session: int) -> None:
        if not self._taken.add(message):
            self.context.report(
                "held_once",
                f"message {message} is {how}, and came into the system once before",
                epoch=self.context.epoch,
                message=message,
                session=self.context.sessions.get(session),
            )

    def duplicate(self, event: Event) -> None:
        """A repeat was suppressed."""
        self.context.counts.duplicates_suppressed += 1
        self._held_of(event, "duplicate")

    def released(self, event: Event) -> None:
        """PUBREL: the message goes out."""
        context = self.context
        context.counts.released += 1
        held = self._held_of(event, "released_once")
        book = context.book_of(event)
        if held is not None:
            del book.held[number_in(event, "packet_id")]
        self.fan_out.begin(
            book.number,
            number_in(event, "message"),
            held.topic if held is not None else None,
            2,
            number_in(event, "matched"),
            may_be_5=book.may_be_5,
        )

    def abandoned(self, event: Event) -> None:
        """`await_rel_timeout` passed."""
        self.context.counts.abandoned += 1
        if self._held_of(event, "released_once") is not None:
            del self.context.book_of(event).held[number_in(event, "packet_id")]

    def _held_of(self, event: Event, law: str) -> Held | None:
        context = self.context
        book = context.book_of(event)
        packet_id, message = number_in(event, "packet_id"), number_in(event, "message")
        held = book.held.get(packet_id)
        if held is not None and held.message == message:
            return held
        if held is not None:
            found, epoch = f"message {held.message} is held under it", held.epoch
        elif message in self._taken:
            found, epoch = "it was released or abandoned before", book.epoch
        else:
            found, epoch = "it was never held", book.epoch
        context.report(
            law,
            f"{event['event']} of message {message} under packet identifier {packet_id}, but "
            f"{found}",
            epoch=epoch,
            message=message,
            session=book,
        )
        return None

    def published(self, event: Event) -> None:
        """A message that was not held goes out: QoS 0 and 1, clean sessions, wills."""
        context = self.context
        message, number = number_in(event, "message"), number_in(event, "session")
        context.counts.published += 1
        self._take(message, "published", number)
        book = context.sessions.get(number)
        self.fan_out.begin(
            number,
            message,
            str(event["topic"]) if event["origin"] != "gateway" else None,
            number_in(event, "qos"),
            number_in(event, "matched"),
            may_be_5=book is None or book.may_be_5,
        )
