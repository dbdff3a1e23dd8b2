"""A gateway's data directory: its segments, its journal, and what the log leaves open against the
database. It is read while the broker runs or when it has stopped; nothing is written.

Journal and tables are read in one transaction, so that both are of the same moment. It is begun
when all segments have been judged: a transaction that lasts would keep the broker's WAL growing.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from gateway.audit.final_state import compare
from gateway.audit.findings import Findings, LawException
from gateway.audit.segments import in_order, segments_below, stretch_of
from gateway.audit.walk import Stretch, Walk
from gateway.core.journal import DamagedBlob, decode
from gateway.history.names import SegmentName
from gateway.history.verify import DamagedSegment
from gateway.store.database import DATABASE_NAME, connect_read_only

Progress = Callable[[int, str], None]
"""Called with the events judged so far and what is being read."""


class Audit:
    """One run over a data directory or a folder of segments."""

    def __init__(self, source: Path, progress: Progress) -> None:
        self.findings = Findings(str(source))
        self._progress = progress
        self._walks: dict[str, Walk] = {}
        self._judged: set[SegmentName] = set()
        self._strange: set[Path] = set()

    def folder(self, directory: Path) -> Findings:
        """Judge all segments below a directory. Raises `OSError`."""
        self._segments([directory])
        for walk in self._walks.values():
            self._finish(walk)
        return self.findings

    def data_directory(self, data_dir: Path, gateway: str) -> Findings:
        """Judge a gateway's whole log as of now, and compare it with the database.

        Raises `OSError`, `sqlite3.Error`.
        """
        log = data_dir / "log"
        directories = [log / "sealed", log / "sent", data_dir / "uploaded"]
        self._segments(directories)
        with closing(connect_read_only(data_dir / DATABASE_NAME)) as connection:
            connection.execute("BEGIN")
            # The snapshot is that of the first read; what was exported before it is sealed now.
            connection.execute("SELECT count(*) FROM meta").fetchone()
            self._segments(directories)
            walk = self._walk_of(gateway)
            self._journal(connection, walk)
            self._finish(walk, connection)
        for other in self._walks.values():
            if other is not walk:
                self._finish(other)
        return self.findings

    def _walk_of(self, gateway: str) -> Walk:
        if gateway not in self._walks:
            self._walks[gateway] = Walk(self.findings, gateway)
        return self._walks[gateway]

    def _segments(self, directories: list[Path]) -> None:
        found, strange = segments_below(directories)
        for name, path in in_order(found):
            if name in self._judged:
                continue
            self._judged.add(name)
            walk = self._walk_of(name.gateway)
            try:
                walk.take(stretch_of(name, path))
            except DamagedSegment as damage:
                walk.damaged(path.name, f"segment {name.segment} is damaged: {damage}")
            self.findings.counts.segments += 1
            self._progress(self.findings.counts.events, f"segment {name.segment}")
        for path in strange:
            if path in self._strange:
                continue
            self._strange.add(path)
            detail = "its name is no segment's name: it was renamed, and not read"
            self.findings.add(
                LawException("inconclusive", "log", "", "", detail, segment=path.name)
            )

    def _journal(self, connection: sqlite3.Connection, walk: Walk) -> None:
        """The batches that are in no segment yet."""
        exported_until = self._exported_until(connection, walk)
        for sequence, blob in connection.execute(
            "SELECT sequence, blob FROM journal ORDER BY sequence"
        ):
            try:
                # Damage to the file can leave anything in a column, NULL too.
                batch = decode(blob if isinstance(blob, bytes) else b"")
            except DamagedBlob as damage:
                if walk.ledger is None or sequence >= walk.ledger.next_sequence:
                    walk.damaged("journal", f"the batch at sequence {sequence}: {damage}")
                continue
            end = batch.first_sequence + len(batch.events) - 1
            if walk.has_seen(batch.store, batch.boot, end):
                continue
            if sequence <= exported_until and walk.is_behind(batch.store, end):
                continue  # it was in a segment that is missing: told where the gap was met
            for event in batch.events:
                event["time"] = batch.time_ms
            walk.take(
                Stretch(
                    walk.gateway,
                    batch.store,
                    batch.boot,
                    batch.first_sequence,
                    batch.events,
                    "journal",
                )
            )
            self._progress(self.findings.counts.events, "journal")

    @staticmethod
    def _exported_until(connection: sqlite3.Connection, walk: Walk) -> int:
        """The journal's last batch of a boot that the segments know: none before it is new."""
        last = 0
        for sequence, boot in connection.execute(
            "SELECT sequence, hex(substr(blob, 13, 8)) FROM journal ORDER BY sequence"
        ):
            if walk.knows(boot.lower()):
                last = sequence
        return last

    def _finish(self, walk: Walk, connection: sqlite3.Connection | None = None) -> None:
        ledger = walk.end()
        if ledger is None:
            return
        ledger.finish(is_complete=connection is not None)
        if connection is None:
            ledger.doubt("events behind it are missing", also_firm=False)
        else:
            self._progress(self.findings.counts.events, "the database")
            compare(ledger, connection)
