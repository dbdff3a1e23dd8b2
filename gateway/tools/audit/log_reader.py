"""Reads a gateway's log, passes the events to the checks, and finds gaps in the log.

Each part of the log that is missing or cannot be used is reported as a finding of the check `log`.
With such a finding, the verdict of the audit is never `ok`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.tools.audit.context import Event
from gateway.tools.audit.findings import Finding, Findings
from gateway.tools.audit.log_check import LogCheck


@dataclass(frozen=True, slots=True)
class EventRange:
    """Consecutive events that come from one segment, or from one batch of the journal.

    `boot` identifies the run of the broker, and `store` identifies the database.
    """

    gateway: str
    store: str
    boot: str
    first_sequence: int
    events: Sequence[Event]
    name: str
    """Name in messages: the segment's file name, or `journal`."""
    segment: int | None = None
    """The segment's number, or None for the journal."""
    sha256: str | None = None
    previous_sha256: str | None = None
    public_key: str | None = None
    """The key that signed the segment, or None if the segment is unsigned."""

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last event."""
        return self.first_sequence + len(self.events) - 1


class LogReader:
    """Reader of one gateway's log.

    The caller passes the segments and batches in order. The reader checks their events, and finds
    missing events between them.
    """

    def __init__(self, findings: Findings, gateway: str) -> None:
        self.findings = findings
        self.gateway = gateway
        self.check: LogCheck | None = None
        self._store = ""
        self._boots: set[str] = set()
        self._before: EventRange | None = None
        self._is_broken = False

    def damaged(self, name: str, why: str) -> None:
        """Report that a segment or batch is not used. `why` gives the reason."""
        self._add(name, f"{why}; nothing in it was used: look for a good copy", ())
        self._is_broken = True

    def has_seen(self, store: str, boot: str, last_sequence: int) -> bool:
        """Return True if a batch of the journal has already been read from a segment.

        `store` and `boot` identify the batch's database and broker run. `last_sequence` is the
        sequence number of its last event.
        """
        return boot in self._boots and self.is_past(store, last_sequence)

    def has_read(self, boot: str) -> bool:
        """Return True if a segment from the broker run `boot` has been read."""
        return boot in self._boots

    def is_past(self, store: str, last_sequence: int) -> bool:
        """Return True if the event `last_sequence` of the database `store` has been checked."""
        return (
            store == self._store
            and self.check is not None
            and last_sequence < self.check.next_sequence
        )

    def take(self, event_range: EventRange) -> None:
        """Check the next events of the log. Skip events that have already been checked."""
        if event_range.store != self._store:
            self._begin_store(event_range)
        else:
            self._continue(event_range)
        self._before = event_range
        self._boots.add(event_range.boot)
        self._is_broken = False
        check = self.check
        assert check is not None
        skipped = max(0, check.next_sequence - event_range.first_sequence)
        events = event_range.events[skipped:] if skipped else event_range.events
        check.take(events, event_range.first_sequence + skipped, event_range.name)

    def end(self) -> LogCheck | None:
        """Finish reading the log.

        Return the checks of the latest database, or None if no events were read.
        """
        if self._is_broken and self.check is not None:
            self.check.break_here()
        return self.check

    def _begin_store(self, event_range: EventRange) -> None:
        """Start checking the events of a new database, which may have replaced an earlier one."""
        before = self.check
        first = event_range.first_sequence
        follows = before is not None and first == before.next_sequence
        if before is not None:
            before.finish(is_complete=False)
            before.report_unknown_outcomes(
                "its database was replaced by another one", include_all=True
            )
        self.check = LogCheck(self.findings, self.gateway, event_range.store)
        self._store = event_range.store
        self.check.context.sequence = first - 1
        if self._is_broken or not (first == 1 or follows):
            self._add(
                event_range.name,
                f"the log begins at sequence {first}: events 1 to {first - 1} are not here"
                if before is None
                else f"the log of a new database begins at sequence {first}",
                (first,),
            )
            self.check.break_here()

    def _continue(self, event_range: EventRange) -> None:
        check = self.check
        assert check is not None
        expected, first = check.next_sequence, event_range.first_sequence
        if first > expected:
            self._add(
                event_range.name,
                f"events {expected} to {first - 1} are missing before it; if the gateway has them "
                "(log/sent, log/sealed), audit again with them",
                (expected, first - 1),
            )
        elif first < expected and event_range.boot not in self._boots:
            self._add(
                event_range.name,
                f"a new start of the broker counts from {first} again, after {expected - 1}: its "
                "database lost its end (did the card lie about fsync?)",
                (first,),
            )
            check.context.sequence = first - 1
        elif not self._is_broken and self._follows(event_range):
            return
        elif not self._is_broken:
            self._add(
                event_range.name,
                "the segment before it is not the one that its header names: one of them was "
                "replaced, or is missing",
                (first,),
            )
        check.break_here()

    def _follows(self, event_range: EventRange) -> bool:
        before = self._before
        if before is None or event_range.segment is None or before.segment is None:
            return True
        return (before.segment + 1, before.sha256) == (
            event_range.segment,
            event_range.previous_sha256,
        )

    def _add(self, name: str, detail: str, sequences: tuple[int, ...]) -> None:
        self.findings.add(
            Finding(
                "inconclusive",
                "log",
                self.gateway,
                self._store,
                detail,
                sequences=sequences,
                segment=name,
            )
        )
