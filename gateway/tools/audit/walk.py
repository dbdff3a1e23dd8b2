"""Reads a gateway's log in order, runs the checks on each event, and finds gaps in the log.

The check `log` reports each part of the log that is missing or cannot be used. If there is such a
part, the verdict of the audit is not `ok`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.tools.audit.context import Event
from gateway.tools.audit.findings import Findings, LawException
from gateway.tools.audit.log_check import LogCheck


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive events from one run of the broker (`boot`) and one database (`store`)."""

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


class Walk:
    """Passes the events of one gateway to the checks, in order.

    The caller supplies the events as `Stretch` objects.
    """

    def __init__(self, findings: Findings, gateway: str) -> None:
        self.findings = findings
        self.gateway = gateway
        self.check: LogCheck | None = None
        self._store = ""
        self._boots: set[str] = set()
        self._before: Stretch | None = None
        self._is_broken = False

    def damaged(self, name: str, why: str) -> None:
        """Report that a segment or batch cannot be used. `why` gives the reason."""
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

    def take(self, stretch: Stretch) -> None:
        """Check the next events. Skip events that have already been checked."""
        if stretch.store != self._store:
            self._begin_store(stretch)
        else:
            self._continue(stretch)
        self._before = stretch
        self._boots.add(stretch.boot)
        self._is_broken = False
        check = self.check
        assert check is not None
        skipped = max(0, check.next_sequence - stretch.first_sequence)
        events = stretch.events[skipped:] if skipped else stretch.events
        check.take(events, stretch.first_sequence + skipped, stretch.name)

    def end(self) -> LogCheck | None:
        """Finish reading the log.

        Return the checks of the latest database, or None if no events were read.
        """
        if self._is_broken and self.check is not None:
            self.check.break_here()
        return self.check

    def _begin_store(self, stretch: Stretch) -> None:
        """Start checking a new database. It is the first in the log, or it has replaced another."""
        before = self.check
        first = stretch.first_sequence
        follows = before is not None and first == before.next_sequence
        if before is not None:
            before.finish(is_complete=False)
            before.doubt("its database was replaced by another one", also_firm=True)
        self.check = LogCheck(self.findings, self.gateway, stretch.store)
        self._store = stretch.store
        self.check.context.sequence = first - 1
        if self._is_broken or not (first == 1 or follows):
            self._add(
                stretch.name,
                f"the log begins at sequence {first}: events 1 to {first - 1} are not here"
                if before is None
                else f"the log of a new database begins at sequence {first}",
                (first,),
            )
            self.check.break_here()

    def _continue(self, stretch: Stretch) -> None:
        check = self.check
        assert check is not None
        expected, first = check.next_sequence, stretch.first_sequence
        if first > expected:
            self._add(
                stretch.name,
                f"events {expected} to {first - 1} are missing before it; if the gateway has them "
                "(log/sent, log/sealed), audit again with them",
                (expected, first - 1),
            )
        elif first < expected and stretch.boot not in self._boots:
            self._add(
                stretch.name,
                f"a new start of the broker counts from {first} again, after {expected - 1}: its "
                "database lost its end (did the card lie about fsync?)",
                (first,),
            )
            check.context.sequence = first - 1
        elif not self._is_broken and self._follows(stretch):
            return
        elif not self._is_broken:
            self._add(
                stretch.name,
                "the segment before it is not the one that its header names: one of them was "
                "replaced, or is missing",
                (first,),
            )
        check.break_here()

    def _follows(self, stretch: Stretch) -> bool:
        before = self._before
        if before is None or stretch.segment is None or before.segment is None:
            return True
        return (before.segment + 1, before.sha256) == (stretch.segment, stretch.previous_sha256)

    def _add(self, name: str, detail: str, sequences: tuple[int, ...]) -> None:
        self.findings.add(
            LawException(
                "inconclusive",
                "log",
                self.gateway,
                self._store,
                detail,
                sequences=sequences,
                segment=name,
            )
        )
