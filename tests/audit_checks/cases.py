"""The table of cases: logs, their verdicts, and the checks that must report one exception each.

Each case is a correct log with one change. A log is a list of segments, each a list of events; None
is a segment that never arrived. Each case has its own gateway, so one audit can judge all cases
together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.audit_checks.events import (
    Event,
    begin,
    completed,
    delivered,
    dropped,
    ended,
    event,
    held,
    life,
    one_batch,
    opened,
    published,
    queued,
    received,
    released,
    repeated,
    resent,
    started,
    subscribed,
)
from tests.contract.segments import LogWriter, Segment

Log = list[list[Event] | None]
Found = Counter[tuple[str, str]]
"""The number of exceptions by verdict and check."""


@dataclass(frozen=True)
class Case:
    """A log, and the exceptions that an audit must find in it."""

    name: str
    log: Log
    verdict: str = "ok"
    checks: frozenset[str] = frozenset()
    first_sequence: int = 1

    @property
    def exceptions(self) -> Found:
        """One exception for each check, with the verdict of the case."""
        return Counter((self.verdict, check) for check in self.checks)

    @property
    def gateway(self) -> str:
        """The gateway's id: the case's name with spaces as hyphens, cut to 64 characters."""
        return self.name.replace(" ", "-")[:64]

    @property
    def store(self) -> str:
        """The database's id."""
        return self.gateway.encode().hex()[:16].ljust(16, "0")

    def segments(self) -> list[Segment]:
        """Return the segments that arrived."""
        writer = LogWriter(gateway=self.gateway, store=self.store, sequence=self.first_sequence)
        made = [(writer.seal(timed(events or [opened(99)], writer)), events) for events in self.log]
        return [segment for segment, events in made if events is not None]

    def land(self, directory: Path) -> None:
        """Write the segments that arrived into a directory."""
        directory.mkdir(parents=True, exist_ok=True)
        for segment in self.segments():
            segment.write_to(directory)


_OUT = ("message_released", "message_published")
_IN = ("message_queued", "delivery_started", "message_dropped", "retained_set")


def timed(events: list[Event], writer: LogWriter) -> list[Event]:
    """Add times to events. A release and the events caused by it are one batch, with one time."""
    found: list[Event] = []
    run: int | None = None
    for index, one in enumerate(events):
        time_ms = one.get("time", writer.time_ms + 10 * index)
        if one["event"] not in _IN:
            run = None
        if run is not None and "time" not in one:
            time_ms = run
        if one["event"] in _OUT:
            run = time_ms
        found.append(one | {"time": time_ms})
    return found


def ok(name: str, *log: list[Event]) -> Case:
    """Return a case whose log accounts for every message."""
    return Case(name, list(log))


def violation(name: str, check: str, *events: Event) -> Case:
    """Return a case whose log contradicts itself."""
    return Case(name, [begin(*events)], "violation", frozenset({check}))


def doubt(name: str, checks: set[str], *log: list[Event] | None, first_sequence: int = 1) -> Case:
    """Return a case whose log proves too little for a verdict."""
    return Case(name, list(log), "inconclusive", frozenset(checks), first_sequence)


_SHARED = "$share/group/t/#"

CASES = (
    ok("every message accounted for", begin(*life(1, 0), *life(2, 1))),
    ok("a delivery over two segments", begin(held(1), released(1), started(1, 0)),
       [received(1), completed(1)]),
    ok("repeats are suppressed", begin(held(1), repeated(1), repeated(1), released(1),
                                       *delivered(1, 0))),
    ok("queued and then delivered", begin(held(1), released(1), queued(1, 0), *delivered(1, 0))),
    ok("still held", begin(held(1))),
    ok("still queued and in flight", begin(held(1), released(1), started(1, 0), held(2),
                                           released(2), queued(2, 1))),
    ok("resent as the standard requires", begin(held(1), released(1), started(1, 0),
       resent(1, "publish"), received(1), resent(1, "pubrel"), completed(1))),
    ok("dropped with a reason", begin(held(1), released(1), dropped(1))),
    ok("expired in the queue", begin(held(1), released(1), queued(1, 0), dropped(1, "expired"),
                                     *life(2, 1))),
    ok("displaced in the queue", begin(held(1), released(1), queued(1, 0), dropped(1, "displaced"),
                                       *life(2, 1))),
    ok("queue ended with the session", begin(held(1), released(1), queued(1, 0), ended(2))),
    ok("abandoned by the operators limit", begin(held(1),
       event("message_abandoned", 1, packet_id=1, message=1))),
    ok("a clean session beside it", [opened(3, clean=True), *begin(held(1),
       released(1, matched=2), *delivered(1, 0))]),
    ok("qos 1 as published", begin(published(1), started(1, 0, qos=1), resent(1, "publish"),
                                   completed(1))),
    ok("qos 0 from the queue", begin(subscribed(2, "t/#", 0), published(1),
       queued(1, 0, qos=0), completed(1, 0))),
    ok("retained for a new subscription", begin(held(1), released(1),
       {"event": "retained_set", "topic": "t/1", "message": 1}, *delivered(1, 0), opened(3),
       subscribed(3), started(1, 0, session=3), event("delivery_received", 3, packet_id=1,
       message=1), completed(1, session=3))),
    ok("handed on by a shared subscription", [opened(1), opened(2), subscribed(2, _SHARED),
       opened(3), subscribed(3, _SHARED), held(1), released(1), queued(1, 0), held(2),
       *one_batch(queued(1, 0, 3), ended(2))]),
    ok("handed on right behind its release", [opened(1), opened(2), subscribed(2, _SHARED),
       opened(3), subscribed(3, _SHARED), held(1),
       *one_batch(released(1), queued(1, 0), queued(1, 0, 3), ended(2))]),
    ok("an identifier used again later", begin(*life(1, 0), *life(2, 1), *life(3, 2))),
    violation("lost before its queue", "fan_out", held(1), released(1), *life(2, 0)),
    violation("lost from its queue", "delivery", held(1), released(1), queued(1, 0), held(2),
              released(2), queued(2, 1), *delivered(2, 1)),
    violation("position never used", "delivery", held(1), released(1), started(1, 5)),
    violation("delivered twice", "delivery", *life(1, 0)[:-3], *delivered(1, 0),
              *delivered(1, 0)),
    violation("completed twice", "delivery", *life(1, 0), completed(1)),
    violation("entered again", "fan_out", *life(1, 0), *delivered(1, 1)),
    violation("more entries than matched", "fan_out", opened(3), subscribed(3), held(1),
              released(1), started(1, 0), started(1, 0, session=3)),
    violation("released twice", "released_once", *life(1, 0), released(1, matched=0)),
    violation("released and never held", "released_once", released(1), *delivered(1, 0)),
    violation("released after abandoned", "released_once", held(1),
              event("message_abandoned", 1, packet_id=1, message=1), released(1),
              *delivered(1, 0)),
    violation("held and forgotten", "held_once", held(1), held(2), released(2),
              *delivered(2, 0)),
    violation("held twice", "held_once", held(1), released(1), *delivered(1, 0), held(1)),
    violation("published twice", "held_once", published(1), started(1, 0, qos=1), completed(1),
              published(1), started(1, 1, qos=1), completed(1)),
    violation("repeat of a message not held", "duplicate", *life(1, 0), repeated(1)),
    violation("identifier used twice", "identifier", held(1), released(1), started(1, 0), held(2),
              released(2), started(2, 1)),
    violation("publish resent after pubrec", "resent", held(1), released(1), started(1, 0),
              received(1), resent(1, "publish"), completed(1)),
    violation("pubrel resent before pubrec", "resent", held(1), released(1), started(1, 0),
              resent(1, "pubrel"), received(1), completed(1)),
    violation("resent after completed", "resent", *life(1, 0), resent(1, "publish")),
    violation("completed before pubrec", "delivery", held(1), released(1), started(1, 0),
              completed(1)),
    violation("pubrec twice", "resent", held(1), released(1), started(1, 0), received(1),
              received(1), completed(1)),
    violation("delivered to an ended session", "session", held(1), released(1), queued(1, 0),
              ended(2), started(1, 0)),
    doubt("a gap while in flight", {"log", "delivery"}, begin(held(1), released(1), started(1, 0)),
          None, [opened(4)]),
    doubt("a gap while held", {"log", "released_once"}, begin(held(1)), None, [opened(4)]),
    doubt("released in a gap", {"log", "delivery"}, begin(held(1), released(1), started(1, 0)),
          None, [completed(1)]),
    doubt("queued in a gap and started behind it", {"log", "delivery"}, begin(held(1), released(1),
          {"event": "retained_set", "topic": "t/1", "message": 1}, *delivered(1, 0)), None,
          [held(3), released(3), queued(3, 2), *delivered(1, 1), *delivered(3, 2)]),
    doubt("the log begins late", {"log", "released_once", "fan_out"}, [released(1, matched=3)],
          first_sequence=50),
    doubt("truncated by its limit", {"log"}, begin(*life(1, 0)), None,
          [{"event": "log_truncated", "from_sequence": 9, "to_sequence": 9}]),
    doubt("the data on disk were damaged", {"log", "delivery"},
          begin(held(1), released(1), queued(1, 0)),
          [{"event": "store_damaged", "detail": "3 pages"}, opened(4)]),
    doubt("expired before its release perhaps", {"fan_out"},
          [opened(1, protocol=5), opened(2), subscribed(2), held(1), released(1, matched=0),
           opened(4)]),
    doubt("not back to its publisher perhaps", {"fan_out"},
          [opened(1, protocol=5), subscribed(1), held(1), released(1), opened(4)]),
    doubt("the last batch is cut", {"fan_out"}, begin(held(1), released(1))),
    ok("refused by access rules",
       begin(held(1), released(1), dropped(1, "refused"), *life(2, 0))),
    ok("an ended session gets nothing more", begin(ended(2), held(1), released(1, matched=0))),
    violation("handed on and no session ended", "fan_out", subscribed(2, _SHARED), held(1),
              released(1, matched=2), queued(1, 0), queued(1, 1), opened(3), queued(1, 2)),
    violation("to a session that does not subscribe", "fan_out", opened(3), held(1),
              released(1, matched=2), started(1, 0), started(1, 0, session=3)),
)  # fmt: skip
