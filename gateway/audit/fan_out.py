"""One message to all its receivers: each persistent session that it matched gets one entry.

The broker records a release and the entries that it makes as one run of events, and commits them
in one batch. An entry that comes later needs a reason: the message is retained and the session has
subscribed, or a shared subscription handed on what a session that ends leaves behind.
"""

from dataclasses import dataclass, field

from gateway.audit.books import SessionBook
from gateway.audit.context import Context

MORE_OF_THE_RUN = frozenset({"retained_set", "retained_cleared", "limit_hit"})
"""Events that may stand between a release and its entries."""


@dataclass(slots=True)
class Run:
    """A release, and the entries that have followed it so far."""

    publisher: int
    message: int
    topic: str | None
    qos: int
    matched: int
    sequence: int
    may_expire: bool
    entries: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Claim:
    """An entry that only the end of another session in the same batch can explain."""

    message: int
    session: SessionBook
    sequence: int
    segment: str


class FanOut:
    """The law `fan_out`."""

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
        may_expire: bool,
    ) -> None:
        """A message goes out. `topic` is None where the receivers cannot be told from it."""
        self.context.counts.matched += matched
        sequence = self.context.sequence
        self.run = Run(publisher, message, topic, qos, matched, sequence, may_expire)

    def entry(self, book: SessionBook, message: int) -> None:
        """A session gets the message: queued, started at once, or dropped."""
        run = self.run
        self.context.counts.entries += 1
        if run is not None and run.message == message:
            run.entries[book.number] = run.entries.get(book.number, 0) + 1
            return
        self.context.counts.late_entries += 1
        if message in self._retained_count:
            return
        if message in self._left:
            return
        if not self.context.is_whole:
            self.context.report(
                "fan_out",
                f"an entry of message {message} whose release is not in the log",
                epoch=-1,
                message=message,
                session=book,
            )
            return
        context = self.context
        self._claims.append(Claim(message, book, context.sequence, context.segment))

    # -- reasons for late entries

    def retained_set(self, topic: str, message: int) -> None:
        """The topic has a new retained message."""
        self.retained_cleared(topic)
        self._retained[topic] = message
        self._retained_count[message] = self._retained_count.get(message, 0) + 1

    def retained_cleared(self, topic: str) -> None:
        """The topic has none."""
        before = self._retained.pop(topic, None)
        if before is not None:
            self._retained_count[before] -= 1
            if not self._retained_count[before]:
                del self._retained_count[before]

    def session_ends(self, book: SessionBook) -> None:
        """Members of its shared subscriptions may get, in this batch, what it leaves."""
        if any(name.startswith("$share/") for name in book.subscriptions):
            self._left.update(one.message for one in book.unfinished())
            self._claims = [claim for claim in self._claims if claim.message not in self._left]

    def batch_over(self) -> None:
        """Another batch begins (its time differs): what was claimed had to be explained by now."""
        for claim in self._claims:
            self.context.add(
                "violation",
                "fan_out",
                f"message {claim.message} enters the session again, long after its release: it "
                "is not retained, and no shared subscription hands it on",
                message=claim.message,
                session=claim.session,
                sequences=(claim.sequence,),
                segment=claim.segment,
            )
        self._claims.clear()
        self._left.clear()

    # -- the end of a run

    def close(self, *, is_cut: bool = False) -> None:
        """The run is over: every receiver has its entry. `is_cut`: its end is not in the log."""
        run = self.run
        if run is None:
            return
        self.run = None
        context = self.context
        entries = sum(run.entries.values())
        context.counts.unrecorded += max(0, run.matched - entries)
        if entries > run.matched:
            self._report(run, f"{run.matched} sessions matched and {entries} have an entry")
        if not run.qos:
            return
        if not context.is_whole or is_cut:
            if entries < run.matched:
                self._doubt(run, entries)
        elif run.topic is not None:
            self._compare(run, run.topic)

    def _compare(self, run: Run, topic: str) -> None:
        """The whole log is there, so every persistent session's subscriptions are known."""
        receivers = self.context.subscriptions.receivers_of(topic)
        for number, qos in receivers.granted.items():
            if not qos or number in run.entries or (number == run.publisher and run.may_expire):
                continue
            if not run.matched and run.may_expire:
                self._doubt_expiry(run, number)
            else:
                self._report(
                    run,
                    "its subscription matched and the message never reached its queue",
                    self.context.sessions.get(number),
                )
        for number, count in run.entries.items():
            allowed = (number in receivers.granted) + receivers.shared.get(number, 0)
            if count > allowed:
                expected = "no subscription of its matched" if not allowed else f"{allowed} matched"
                self._report(
                    run, f"{count} entries where {expected}", self.context.sessions.get(number)
                )

    def _report(self, run: Run, detail: str, session: SessionBook | None = None) -> None:
        self.context.add(
            "violation",
            "fan_out",
            f"message {run.message}: {detail}",
            message=run.message,
            session=session,
            sequences=(run.sequence,),
        )

    def _doubt(self, run: Run, entries: int) -> None:
        self.context.add(
            "inconclusive",
            "fan_out",
            f"message {run.message} matched {run.matched} sessions and {entries} have an entry: "
            "whether the others keep no record (clean sessions, QoS 0) cannot be told, because "
            "the log is not whole",
            message=run.message,
            sequences=(run.sequence,),
        )

    def _doubt_expiry(self, run: Run, number: int) -> None:
        self.context.add(
            "inconclusive",
            "fan_out",
            f"message {run.message} went to nobody although this session subscribes: it may have "
            "expired before its release, which the log does not tell",
            message=run.message,
            session=self.context.sessions.get(number),
            sequences=(run.sequence,),
        )
