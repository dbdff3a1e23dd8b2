"""Checks that messages are received once and released once, and that repeats are suppressed."""

from gateway.tools.audit.context import Context, Event
from gateway.tools.audit.fan_out import FanOut
from gateway.tools.audit.session_state import Held, Marks


def number_in(event: Event, name: str) -> int:
    """Return an integer field of an event. Raises ValueError if it is not a non-negative integer.

    This check is necessary, because the values of the fields are not checked when the log is read.
    """
    value = event.get(name)
    if type(value) is not int or value < 0:
        raise ValueError(f"`{name}` of {event.get('event')} is {value!r}, expected a number")
    return value


class PublishChecks:
    """The checks `held_once`, `duplicate` and `released_once` (docs/audit.md).

    Each method checks one log event.
    """

    def __init__(self, context: Context, fan_out: FanOut) -> None:
        self.context = context
        self.fan_out = fan_out
        self._taken = Marks()
        """Numbers of the messages received so far. Each number may occur once."""

    def check_held(self, event: Event) -> None:
        """Check the log event `message_held`, which records a newly received QoS 2 PUBLISH."""
        context = self.context
        session = context.session_of(event)
        packet_id, message = number_in(event, "packet_id"), number_in(event, "message")
        context.counts.held += 1
        before = session.held.get(packet_id)
        if before is not None:
            context.report(
                "held_once",
                f"message {before.message} was held under packet identifier {packet_id} and never "
                f"released or abandoned; now message {message} is held under it",
                epoch=before.epoch,
                message=before.message,
                session=session,
                since=before.sequence,
            )
        self._take(message, "held", session.number)
        session.held[packet_id] = Held(
            message, str(event["topic"]), context.sequence, context.epoch
        )

    def _take(self, message: int, how: str, session: int) -> None:
        if not self._taken.add(message):
            self.context.report(
                "held_once",
                f"message {message} is {how}, and came into the system once before",
                epoch=self.context.epoch,
                message=message,
                session=self.context.sessions.get(session),
            )

    def check_duplicate(self, event: Event) -> None:
        """Check the log event `duplicate_suppressed`, which records a repeated QoS 2 PUBLISH."""
        self.context.counts.duplicates_suppressed += 1
        self._held_of(event, "duplicate")

    def check_released(self, event: Event) -> None:
        """Check the log event `message_released`, which records that a PUBREL released a message.

        A released message is forwarded to the subscribers.
        """
        context = self.context
        context.counts.released += 1
        held = self._held_of(event, "released_once")
        session = context.session_of(event)
        if held is not None:
            del session.held[number_in(event, "packet_id")]
        self.fan_out.begin_release(
            session.number,
            number_in(event, "message"),
            held.topic if held is not None else None,
            2,
            number_in(event, "matched"),
            may_be_5=session.may_be_5,
        )

    def check_abandoned(self, event: Event) -> None:
        """Check the log event `message_abandoned`, which records a message that was discarded.

        The broker discards a message if its PUBREL does not arrive within `await_rel_timeout`.
        """
        self.context.counts.abandoned += 1
        if self._held_of(event, "released_once") is not None:
            del self.context.session_of(event).held[number_in(event, "packet_id")]

    def _held_of(self, event: Event, check: str) -> Held | None:
        context = self.context
        session = context.session_of(event)
        packet_id, message = number_in(event, "packet_id"), number_in(event, "message")
        held = session.held.get(packet_id)
        if held is not None and held.message == message:
            return held
        if held is not None:
            found, epoch = f"message {held.message} is held under it", held.epoch
        elif message in self._taken:
            found, epoch = "it was released or abandoned before", session.epoch
        else:
            found, epoch = "it was never held", session.epoch
        context.report(
            check,
            f"{event['event']} of message {message} under packet identifier {packet_id}, but "
            f"{found}",
            epoch=epoch,
            message=message,
            session=session,
        )
        return None

    def check_published(self, event: Event) -> None:
        """Check the log event `message_published`, which records a message forwarded immediately.

        The broker does not wait for a PUBREL if the message has QoS 0 or 1, comes from a clean
        session, or is a will.
        """
        context = self.context
        message, number = number_in(event, "message"), number_in(event, "session")
        context.counts.published += 1
        self._take(message, "published", number)
        session = context.sessions.get(number)
        self.fan_out.begin_release(
            number,
            message,
            str(event["topic"]) if event["origin"] != "gateway" else None,
            number_in(event, "qos"),
            number_in(event, "matched"),
            may_be_5=session is None or session.may_be_5,
        )
