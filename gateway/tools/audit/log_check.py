"""All checks of the audit, applied to the events of a session log in order."""

from collections.abc import Callable, Iterable

from gateway.tools.audit.context import Context, Event, Place
from gateway.tools.audit.delivering import DeliveryChecks
from gateway.tools.audit.fan_out import BETWEEN_ENTRIES, FanOut
from gateway.tools.audit.findings import Findings
from gateway.tools.audit.receiving import PublishChecks, number_in
from gateway.tools.audit.session_state import Held, InFlight, SessionState, Waiting

_ENTRIES = frozenset({"message_queued", "delivery_started", "message_dropped"})


class LogCheck:
    """All checks of one database's log.

    The caller passes the events (`take`) and the breaks (`break_here`) in the order of the log, and
    then calls `finish`.
    """

    def __init__(self, findings: Findings, gateway: str, store: str) -> None:
        self.context = Context(findings, gateway, store)
        self.fan_out = FanOut(self.context)
        receiving = PublishChecks(self.context, self.fan_out)
        delivering = DeliveryChecks(self.context, self.fan_out)
        self._handlers: dict[str, Callable[[Event], None]] = {
            "session_opened": self._opened,
            "session_resumed": self._resumed,
            "session_ended": self._ended,
            "broker_started": self._started,
            "store_damaged": self._damaged,
            "subscribed": self._subscribed,
            "unsubscribed": self._unsubscribed,
            "message_held": receiving.check_held,
            "duplicate_suppressed": receiving.check_duplicate,
            "message_released": receiving.check_released,
            "message_abandoned": receiving.check_abandoned,
            "message_published": receiving.check_published,
            "message_queued": delivering.check_queued,
            "delivery_started": delivering.check_started,
            "delivery_resent": delivering.check_resent,
            "delivery_received": delivering.check_received,
            "delivery_completed": delivering.check_completed,
            "message_dropped": delivering.check_dropped,
            "retained_set": self._retained_set,
            "retained_cleared": self._retained_cleared,
        }

    @property
    def next_sequence(self) -> int:
        """The expected sequence number of the next event."""
        return self.context.sequence + 1

    def take(self, events: Iterable[Event], first_sequence: int, segment: str) -> None:
        """Check the next events, which are numbered consecutively from `first_sequence`.

        `segment` is the file name of the segment with these events, or `journal`.
        """
        context, handlers, fan_out = self.context, self._handlers, self.fan_out
        context.segment = segment
        sequence = first_sequence - 1
        for event in events:
            sequence += 1
            kind = str(event["event"])
            release = fan_out.release
            if release is not None and not (
                (kind in _ENTRIES and event.get("message") == release.message)
                or kind in BETWEEN_ENTRIES
            ):
                fan_out.finish_release()
            context.sequence = sequence
            if event["time"] != context.time_ms:
                fan_out.end_batch()
                context.time_ms = number_in(event, "time")
            handler = handlers.get(kind)
            if handler is not None:
                try:
                    handler(event)
                except (KeyError, ValueError) as error:
                    self._unreadable(sequence, error)
        context.counts.events += sequence - first_sequence + 1

    def _unreadable(self, sequence: int, error: KeyError | ValueError) -> None:
        self.context.add(
            "inconclusive",
            "log",
            f"event {sequence} is not what docs/formats/session-log.md requires: {error}",
            Place(sequences=(sequence,)),
        )
        self.break_here()

    def break_here(self) -> None:
        """Record a break in the log: a place where events are missing.

        The missing events might have changed the state of every session.
        """
        self.fan_out.finish_release(is_cut=True)
        self.fan_out.end_batch()
        self.context.epoch += 1
        for session in self.context.sessions.values():
            session.lose_track()

    def finish(self, *, is_complete: bool) -> None:
        """Finish the check and count the open messages.

        `is_complete` is True if the last batch of events in the log is complete.
        """
        self.fan_out.finish_release(is_cut=not is_complete)
        self.fan_out.end_batch()
        for session in self.context.sessions.values():
            counts = self.context.counts
            counts.held_open += len(session.held)
            counts.queued_open += len(session.queue)
            counts.in_flight_open += len(session.outbound)

    def report_unknown_outcomes(self, why: str, *, include_all: bool) -> None:
        """Report open messages as inconclusive, because it is unknown what happened to them.

        Args:
            why: the reason, for example that events are missing from the log.
            include_all: True to report all open messages. False to report only those that were
                already open at the latest break in the log.
        """
        for session in self.context.sessions.values():
            everything: list[Held | Waiting | InFlight] = [
                *session.held.values(),
                *session.queue,
                *session.outbound.values(),
            ]
            for one in everything:
                if include_all or one.epoch < self.context.epoch:
                    self.context.add(
                        "inconclusive",
                        "released_once" if isinstance(one, Held) else "delivery",
                        f"how message {one.message} ended is not known: {why}",
                        Place(one.message, session, (one.sequence,)),
                    )

    # -- sessions

    def _opened(self, event: Event) -> None:
        context = self.context
        number = number_in(event, "session")
        context.highest_session = max(context.highest_session, number)
        context.sessions[number] = SessionState(
            number,
            str(event["client_id"]),
            not event["clean"],
            event["protocol"] == 5,
            context.epoch,
        )

    def _resumed(self, event: Event) -> None:
        context = self.context
        session = context.session_of(event)
        session.may_be_5 = session.may_be_5 or event["protocol"] == 5

    def _ended(self, event: Event) -> None:
        context = self.context
        session = context.sessions.pop(number_in(event, "session"), None)
        if session is None:
            return
        self.fan_out.session_ends(session)
        context.counts.held_at_session_end += len(session.held)
        context.counts.ended += len(session.queue) + len(session.outbound)
        context.subscriptions.end(session)

    def _started(self, event: Event) -> None:
        # Clean sessions end with the process, without a record.
        sessions = self.context.sessions
        for number in [one.number for one in sessions.values() if one.persistent is False]:
            del sessions[number]

    def _damaged(self, event: Event) -> None:
        self.context.add(
            "inconclusive",
            "log",
            f"the data on disk were damaged and salvaged: {str(event.get('detail'))[:500]}; what "
            "was open then may have been lost with it",
            Place(sequences=(self.context.sequence,)),
        )
        self.break_here()

    def _subscribed(self, event: Event) -> None:
        self.context.subscriptions.subscribe(
            self.context.session_of(event), str(event["filter"]), number_in(event, "qos")
        )

    def _unsubscribed(self, event: Event) -> None:
        self.context.subscriptions.unsubscribe(self.context.session_of(event), str(event["filter"]))

    def _retained_set(self, event: Event) -> None:
        self.fan_out.retained_set(str(event["topic"]), number_in(event, "message"))

    def _retained_cleared(self, event: Event) -> None:
        self.fan_out.retained_cleared(str(event["topic"]))
