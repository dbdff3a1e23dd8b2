"""Checks that each matching persistent session gets exactly one queue entry for each message.

When the broker releases a message (forwards it to subscribers), it records the release and the
resulting queue entries as consecutive events in one batch. A later queue entry is valid only in two
cases: a session subscribes to the topic of a retained message, or a session with a shared
subscription ends and another session takes over its messages.
"""

from dataclasses import dataclass, field

from gateway.tools.audit.context import Context, Place
from gateway.tools.audit.findings import FindingVerdict
from gateway.tools.audit.session_state import SessionState

BETWEEN_ENTRIES = frozenset({"retained_set", "retained_cleared", "limit_hit"})
"""Events that may occur between the release of a message and its queue entries."""


@dataclass(slots=True)
class Release:
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
class UnexplainedEntry:
    """A queue entry that does not follow from the release of its message.

    It is valid only if its session takes over the message from another session that ends in the
    same batch. Otherwise it is reported at the end of the batch.
    """

    message: int
    session: SessionState
    sequence: int
    segment: str
    detail: str


class FanOut:
    """The check `fan_out`: each matching persistent session must get each message exactly once."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.release: Release | None = None
        self._retained: dict[str, int] = {}
        self._retained_count: dict[int, int] = {}
        self._unexplained: list[UnexplainedEntry] = []
        self._handed_over: set[int] = set()

    def begin_release(
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

        Args:
            publisher: number of the session that published the message.
            message: number of the message.
            topic: topic of the message, or None if the receivers cannot be determined from it.
            qos: QoS of the message.
            matched: number of receivers according to the log.
            may_be_5: True if the publisher might be using MQTT 5.0.
        """
        self.context.counts.matched += matched
        sequence = self.context.sequence
        self.release = Release(publisher, message, topic, qos, matched, sequence, may_be_5)

    def record_entry(self, session: SessionState, message: int) -> None:
        """Record a queue entry: a message that was queued, sent or dropped for a session."""
        release = self.release
        self.context.counts.entries += 1
        if release is not None and release.message == message:
            release.entries[session.number] = release.entries.get(session.number, 0) + 1
            release.latest = session
            return
        self.context.counts.late_entries += 1
        if message in self._retained_count or message in self._handed_over:
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
        self._add_unexplained(message, session, detail)

    def _add_unexplained(self, message: int, session: SessionState, detail: str) -> None:
        context = self.context
        entry = UnexplainedEntry(message, session, context.sequence, context.segment, detail)
        self._unexplained.append(entry)

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
        """Record that a session ended, so that other sessions may take over its messages.

        Messages may be taken over only if the ended session had a shared subscription. The new
        queue entries must be in the same batch of events as the end of the session.
        """
        if any(name.startswith("$share/") for name in session.subscriptions):
            self._handed_over.update(one.message for one in session.unfinished())
            self._unexplained = [
                entry for entry in self._unexplained if entry.message not in self._handed_over
            ]

    def end_batch(self) -> None:
        """Report the queue entries that are still unexplained at the end of a batch."""
        for entry in self._unexplained:
            self.context.add(
                "violation",
                "fan_out",
                f"{entry.detail}: it is not retained, and no shared subscription hands it on",
                Place(entry.message, entry.session, (entry.sequence,), entry.segment),
            )
        self._unexplained.clear()
        self._handed_over.clear()

    # -- the end of a release

    def finish_release(self, *, is_cut: bool = False) -> None:
        """End the current release, if there is one, and check the queue entries of its message.

        Args:
            is_cut: True if later queue entries of the message may be missing from the log.
        """
        release = self.release
        if release is None:
            return
        self.release = None
        context = self.context
        entries = sum(release.entries.values())
        context.counts.unrecorded += max(0, release.matched - entries)
        if entries > release.matched and release.latest is not None:
            # Messages from an ended member of a shared subscription may follow directly.
            detail = (
                f"message {release.message} matched {release.matched} sessions and has "
                f"{entries} entries"
            )
            self._add_unexplained(release.message, release.latest, detail)
        if not release.qos:
            return
        if context.is_whole and release.topic is not None:
            self._compare(release, release.topic, is_cut=is_cut and entries < release.matched)
        elif entries < release.matched:
            self._add_unknown(release, entries)

    def _compare(self, release: Release, topic: str, *, is_cut: bool) -> None:
        """Compare a message's queue entries with the persistent sessions that must receive it."""
        receivers = self.context.subscriptions.receivers_of(topic)
        for number, qos in receivers.granted.items():
            if qos and number not in release.entries:
                self._add_missing(release, number, is_cut=is_cut)
        if sum(release.entries.values()) > release.matched:
            return
        for number, count in release.entries.items():
            allowed = (number in receivers.granted) + receivers.shared.get(number, 0)
            if count > allowed:
                expected = "no subscription of its matched" if not allowed else f"{allowed} matched"
                detail = f"{count} entries where {expected}"
                self._add("violation", release, detail, number)

    def _add_missing(self, release: Release, session_number: int, *, is_cut: bool) -> None:
        """Report that a persistent session has no queue entry for a released message."""
        verdict: FindingVerdict = "inconclusive"
        if is_cut:
            detail = "it is the last in the log, and the end of its batch is missing"
        elif release.may_be_5 and session_number == release.publisher:
            detail = (
                "it did not come back to its publisher, which subscribes to it; the log does not "
                "show whether with the option no local"
            )
        elif release.may_be_5 and not release.matched:
            detail = (
                "it reached no session although this one subscribes; it may have expired before "
                "its release, which the log does not show"
            )
        else:
            verdict = "violation"
            detail = "a subscription of this session matched, and it never reached its queue"
        self._add(verdict, release, detail, session_number)

    def _add(self, verdict: FindingVerdict, release: Release, detail: str, number: int) -> None:
        self.context.add(
            verdict,
            "fan_out",
            f"message {release.message}: {detail}",
            Place(release.message, self.context.sessions.get(number), (release.sequence,)),
        )

    def _add_unknown(self, release: Release, entries: int) -> None:
        self.context.add(
            "inconclusive",
            "fan_out",
            f"message {release.message} matched {release.matched} sessions and {entries} have an "
            "entry: whether the others keep no record (clean sessions, QoS 0) is not known, "
            "because the log is not whole",
            Place(release.message, sequences=(release.sequence,)),
        )
