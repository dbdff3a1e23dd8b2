"""Checks that each matching persistent session gets exactly one queue entry for each message.

When the broker releases a message (forwards it to subscribers), it records the release and the
resulting queue entries as consecutive events (a run) in one batch. A later queue entry is valid
only in two cases: a session subscribes to the topic of a retained message, or a session of a shared
subscription ends and another session takes over its messages.
"""

from dataclasses import dataclass, field

from gateway.tools.audit.context import Context, Place
from gateway.tools.audit.findings import ExceptionVerdict
from gateway.tools.audit.session_state import SessionState

MORE_OF_THE_RUN = frozenset({"retained_set", "retained_cleared", "limit_hit"})
"""Events that may occur between the release of a message and its queue entries."""


@dataclass(slots=True)
class Run:
    """The release of a message, with the queue entries recorded so far for this message."""

    publisher: int
    message: int
    topic: str | None
    qos: int
    matched: int
    sequence: int
    may_be_5: bool
    entries: dict[int, int] = field(default_factory=dict)
    latest: SessionState | None = None
    """The session of the latest queue entry."""


@dataclass(slots=True)
class Claim:
    """A suspicious queue entry for a message that was released earlier.

    The entry is valid only if its session takes over the message from another session, which ends
    in the same batch.
    """

    message: int
    session: SessionState
    sequence: int
    segment: str
    detail: str


class FanOut:
    """The `fan_out` check: each message reaches every matching persistent session exactly once."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.run: Run | None = None
        self._retained: dict[str, int] = {}
        self._retained_count: dict[int, int] = {}
        self._claims: list[Claim] = []
        self._left: set[int] = set()

    def begin(
        self,
        publisher: int,
        message: int,
        topic: str | None,
        qos: int,
        matched: int,
        *,
        may_be_5: bool,
    ) -> None:
        """Start recording the queue entries of a message that is forwarded to subscribers.

        `matched` is the recorded number of receivers. `topic` is None if the receivers cannot be
        determined from the topic. `may_be_5` is True if the publisher might be using MQTT 5.0.
        """
        self.context.counts.matched += matched
        sequence = self.context.sequence
        self.run = Run(publisher, message, topic, qos, matched, sequence, may_be_5)

    def entry(self, session: SessionState, message: int) -> None:
        """Record a queue entry: a message that was queued, sent or dropped for a session."""
        run = self.run
        self.context.counts.entries += 1
        if run is not None and run.message == message:
            run.entries[session.number] = run.entries.get(session.number, 0) + 1
            run.latest = session
            return
        self.context.counts.late_entries += 1
        if message in self._retained_count or message in self._left:
            return
        if self.context.is_whole and session.persistent is None:
            return  # the missing session was already reported
        if not self.context.is_whole:
            self.context.report(
                "fan_out",
                f"an entry of message {message} whose release is not in the log",
                epoch=-1,
                message=message,
                session=session,
            )
            return
        detail = f"message {message} enters the session again, long after its release"
        self._claim(message, session, detail)

    def _claim(self, message: int, session: SessionState, detail: str) -> None:
        context = self.context
        self._claims.append(Claim(message, session, context.sequence, context.segment, detail))

    # -- reasons for late entries

    def retained_set(self, topic: str, message: int) -> None:
        """Record that `message` is the new retained message of a topic."""
        self.retained_cleared(topic)
        self._retained[topic] = message
        self._retained_count[message] = self._retained_count.get(message, 0) + 1

    def retained_cleared(self, topic: str) -> None:
        """Record that a topic no longer has a retained message."""
        before = self._retained.pop(topic, None)
        if before is not None:
            self._retained_count[before] -= 1
            if not self._retained_count[before]:
                del self._retained_count[before]

    def session_ends(self, session: SessionState) -> None:
        """Record the end of a session, for the check of shared subscriptions.

        Other members of the session's shared subscriptions can take over its messages in the same
        batch. The queue entries of these members are then valid.
        """
        if any(name.startswith("$share/") for name in session.subscriptions):
            self._left.update(one.message for one in session.unfinished())
            self._claims = [claim for claim in self._claims if claim.message not in self._left]

    def batch_over(self) -> None:
        """Report the queue entries that are still unexplained at the end of a batch."""
        for claim in self._claims:
            self.context.add(
                "violation",
                "fan_out",
                f"{claim.detail}: it is not retained, and no shared subscription hands it on",
                Place(claim.message, claim.session, (claim.sequence,), claim.segment),
            )
        self._claims.clear()
        self._left.clear()

    # -- the end of a run

    def close(self, *, is_cut: bool = False) -> None:
        """End the current run (the release of a message and its queue entries), and check it.

        `is_cut` is True if the end of the run is missing from the log.
        """
        run = self.run
        if run is None:
            return
        self.run = None
        context = self.context
        entries = sum(run.entries.values())
        context.counts.unrecorded += max(0, run.matched - entries)
        if entries > run.matched and run.latest is not None:
            # Messages from an ended member of a shared subscription may follow directly.
            detail = (
                f"message {run.message} matched {run.matched} sessions and has {entries} entries"
            )
            self._claim(run.message, run.latest, detail)
        if not run.qos:
            return
        if context.is_whole and run.topic is not None:
            self._compare(run, run.topic, is_cut=is_cut and entries < run.matched)
        elif entries < run.matched:
            self._doubt(run, entries)

    def _compare(self, run: Run, topic: str, *, is_cut: bool) -> None:
        """Compare a message's queue entries with the persistent sessions that must receive it."""
        receivers = self.context.subscriptions.receivers_of(topic)
        for number, qos in receivers.granted.items():
            if qos and number not in run.entries:
                self._missing(run, number, is_cut=is_cut)
        if sum(run.entries.values()) > run.matched:
            return
        for number, count in run.entries.items():
            allowed = (number in receivers.granted) + receivers.shared.get(number, 0)
            if count > allowed:
                expected = "no subscription of its matched" if not allowed else f"{allowed} matched"
                detail = f"{count} entries where {expected}"
                self._add("violation", run, detail, number)

    def _missing(self, run: Run, number: int, *, is_cut: bool) -> None:
        """Report that the persistent session `number` has no queue entry for a message."""
        verdict: ExceptionVerdict = "inconclusive"
        if is_cut:
            detail = "it is the last in the log, and the end of its batch is missing"
        elif run.may_be_5 and number == run.publisher:
            detail = (
                "it did not come back to its publisher, which subscribes to it; the log does not "
                "show whether with the option no local"
            )
        elif run.may_be_5 and not run.matched:
            detail = (
                "it reached no session although this one subscribes; it may have expired before "
                "its release, which the log does not show"
            )
        else:
            verdict = "violation"
            detail = "a subscription of this session matched, and it never reached its queue"
        self._add(verdict, run, detail, number)

    def _add(self, verdict: ExceptionVerdict, run: Run, detail: str, number: int) -> None:
        self.context.add(
            verdict,
            "fan_out",
            f"message {run.message}: {detail}",
            Place(run.message, self.context.sessions.get(number), (run.sequence,)),
        )

    def _doubt(self, run: Run, entries: int) -> None:
        self.context.add(
            "inconclusive",
            "fan_out",
            f"message {run.message} matched {run.matched} sessions and {entries} have an entry: "
            "whether the others keep no record (clean sessions, QoS 0) is not known, because "
            "the log is not whole",
            Place(run.message, sequences=(run.sequence,)),
        )
