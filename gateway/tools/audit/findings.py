"""Result of an audit: the findings of all checks, counts, and one verdict."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

Verdict = Literal["ok", "violation", "inconclusive"]
FindingVerdict = Literal["violation", "inconclusive"]

EXCEPTIONS_MAX: Final = 100_000
"""Maximum number of stored exceptions, about 50 MB. Further exceptions are only counted: they have
the same cause, and a small gateway must be able to report it."""

CHECKS: Final[dict[str, str]] = {
    "held_once": "a message is received once, and its identifier holds no other until PUBREL",
    "duplicate": "a repeat is suppressed only while its message is held",
    "released_once": "a held message is released or abandoned once",
    "fan_out": "a message enters the queue of every persistent session that it matched, once",
    "delivery": "an entry is started once, in order, and completed or dropped once",
    "identifier": "a packet identifier of a session is in flight once at a time",
    "resent": "a delivery is repeated and acknowledged only while it is in flight",
    "session": "nothing is delivered to a session that is not there",
    "state": "the database has what the log leaves open, and nothing else",
    "log": "the log is whole: no sequence missing, no segment damaged, replaced or of another key",
}
"""The requirement that each check verifies. docs/audit.md gives the reasons."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One failed or inconclusive check, with the message, session and events concerned."""

    verdict: FindingVerdict
    check: str
    gateway: str
    store: str
    detail: str
    message: int | None = None
    session: int | None = None
    client_id: str | None = None
    sequences: tuple[int, ...] = ()
    segment: str | None = None
    """The file name of the segment, or `journal` or `database`."""


@dataclass(slots=True)
class Counts:
    """Numbers of events, segments, messages and queue entries that the audit has read."""

    events: int = 0
    segments: int = 0
    held: int = 0
    duplicates_suppressed: int = 0
    released: int = 0
    abandoned: int = 0
    published: int = 0
    held_at_session_end: int = 0
    held_open: int = 0
    matched: int = 0
    unrecorded: int = 0
    """Matched sessions without a queue entry: clean sessions, and subscriptions with QoS 0."""
    entries: int = 0
    late_entries: int = 0
    """Queue entries long after the release: retained messages, and messages taken over by another
    member of a shared subscription."""
    completed: int = 0
    refused: int = 0
    dropped: int = 0
    expired: int = 0
    ended: int = 0
    queued_open: int = 0
    in_flight_open: int = 0


@dataclass(slots=True)
class Findings:
    """The result of an audit, collected while the audit runs."""

    source: str
    counts: Counts = field(default_factory=Counts)
    exceptions: list[Finding] = field(default_factory=list)
    violations: int = 0
    inconclusive: int = 0
    seconds: float = 0.0
    by_check: dict[tuple[str, str], int] = field(default_factory=dict)
    """Number of exceptions for each check and verdict."""
    signatures: Mapping[tuple[str, str | None], int] = field(default_factory=dict)
    """Number of segments for each gateway and signing key. The key is None if a segment is
    unsigned."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings, or "ok" if there are none.

        A log without events is inconclusive.
        """
        if self.violations:
            return "violation"
        return "inconclusive" if self.inconclusive or not self.counts.events else "ok"

    def add(self, finding: Finding) -> None:
        """Add a finding.

        The first `EXCEPTIONS_MAX` findings are stored. All others are only counted.
        """
        if finding.verdict == "violation":
            self.violations += 1
        else:
            self.inconclusive += 1
        key = (finding.check, finding.verdict)
        self.by_check[key] = self.by_check.get(key, 0) + 1
        if len(self.exceptions) < EXCEPTIONS_MAX:
            self.exceptions.append(finding)

    def as_json(self) -> dict[str, object]:
        """Return the whole result as JSON values."""
        return {
            "source": self.source,
            "verdict": self.verdict,
            "violations": self.violations,
            "inconclusive": self.inconclusive,
            "counts": asdict(self.counts),
            "signatures": [
                {"gateway": gateway, "public_key": public_key, "segments": segments}
                for (gateway, public_key), segments in sorted(
                    self.signatures.items(), key=lambda item: (item[0][0], item[0][1] or "")
                )
            ],
            "exceptions": [asdict(finding) for finding in self.exceptions],
            "exceptions_not_shown": self.violations + self.inconclusive - len(self.exceptions),
            "seconds": round(self.seconds, 3),
        }
