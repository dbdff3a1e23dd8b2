"""Audit of a gateway's data directory: its segments, its journal, and its database.

The audit can run while the broker is running, and writes nothing. After all segments have been
checked, one transaction reads the tables. It does not begin earlier, because a long transaction
would make the broker's WAL grow. The journal is read last, so it contains all changes that are in
the tables, and possibly later changes.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from gateway.broker.core.records.blob import DamagedBlob
from gateway.broker.core.records.events import decode
from gateway.broker.store.database import DATABASE_NAME, connect_read_only
from gateway.broker.store.formats import refuse_earlier_database, refuse_newer_database
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    JournalFile,
    boot_of,
    journal_files,
    sequence_of,
)
from gateway.tools.audit.final_state import Database, compare
from gateway.tools.audit.findings import Findings, LawException
from gateway.tools.audit.rivals import rejected_rivals
from gateway.tools.audit.segments import in_order, segments_below, stretch_of
from gateway.tools.audit.vouching import SignatureTrust
from gateway.tools.audit.walk import Stretch, Walk
from gateway.uploader.segments.signing_key import public_keys_in
from gateway.uploader.segments.verify import DamagedSegment, UnknownVersion

Progress = Callable[[int, str], None]
"""Function to report progress. Its arguments are the number of checked events and the current file.
"""


class Audit:
    """One audit of a data directory, or of a folder with segments."""

    def __init__(
        self,
        source: Path,
        progress: Progress,
        pinned: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> None:
        """Prepare an audit of `source`.

        `pinned` contains the public keys of each gateway from the file given with `--keys`.
        """
        self.findings = Findings(str(source))
        self._vouching = SignatureTrust(pinned)
        self.findings.signatures = self._vouching.segments
        self._progress = progress
        self._walks: dict[str, Walk] = {}
        self._judged: set[str] = set()
        self._strange: set[Path] = set()

    def folder(self, directory: Path) -> Findings:
        """Audit all segments in a directory and its subfolders.

        Raises `OSError` if a file cannot be read.
        """
        self._segments([directory])
        for walk in self._walks.values():
            self._finish(walk)
        return self.findings

    def data_directory(self, data_dir: Path, gateway: str) -> Findings:
        """Audit a gateway's whole log up to now, and compare it with the database.

        Raises `OSError` and `sqlite3.Error` if a file or the database cannot be read.
        """
        refuse_newer_database(data_dir / DATABASE_NAME)
        log = data_dir / "log"
        self._vouching.trust(gateway, public_keys_in(log))
        directories = [log / "sealed", log / "sent", data_dir / "uploaded"]
        self._segments(directories)
        with closing(connect_read_only(data_dir / DATABASE_NAME)) as connection:
            refuse_earlier_database(data_dir / DATABASE_NAME, connection)
            connection.execute("BEGIN")
            # The first read fixes the snapshot. All that was exported before is now sealed.
            connection.execute("SELECT count(*) FROM meta").fetchone()
            self._segments(directories)
            walk = self._walk_of(gateway)
            end_sequence = self._journal(data_dir, directories, walk)
            self._finish(walk, Database(connection, data_dir, end_sequence))
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
        rejected = rejected_rivals(found, self._vouching)
        for name, path in in_order(found):
            if path.name in self._judged:
                continue
            self._judged.add(path.name)
            walk = self._walk_of(name.gateway)
            try:
                stretch = stretch_of(name, path)
                objection = rejected.get(path.name)
                objection = objection or self._vouching.objection_to(name, stretch.public_key)
                if objection is None:
                    walk.take(stretch)
                else:
                    walk.damaged(path.name, objection)
            except UnknownVersion as unknown:
                walk.damaged(path.name, f"segment {name.segment} cannot be read: {unknown}")
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

    def _journal(self, data_dir: Path, directories: list[Path], walk: Walk) -> int:
        """Check the batches of the journal that no segment contains yet.

        Return the sequence number after the last event in the journal.
        """
        files = journal_files(data_dir / FOLDER_NAME)
        exported_until = _exported_until(files, walk)
        end_sequence = 1
        for file in files:
            blobs = file.blobs(is_newest=file is files[-1])
            if blobs is None:
                # The journal file was removed meanwhile, so a segment contains its batches now.
                self._segments(directories)
                continue
            for blob in blobs:
                end_sequence = max(end_sequence, self._batch(walk, blob, exported_until))
        return end_sequence

    def _batch(self, walk: Walk, blob: bytes, exported_until: int) -> int:
        """Check one encoded batch of the journal.

        Return the sequence number after the batch's last event, or 0 if the batch is damaged.
        """
        sequence = sequence_of(blob)
        try:
            batch = decode(blob)
        except DamagedBlob as damage:
            if walk.check is None or sequence >= walk.check.next_sequence:
                walk.damaged("journal", f"the batch at sequence {sequence}: {damage}")
            return 0
        last = batch.first_sequence + len(batch.events) - 1
        is_exported = sequence <= exported_until and walk.is_past(batch.store, last)
        # If the batch was in a missing segment, the gap was already reported.
        if not walk.has_seen(batch.store, batch.boot, last) and not is_exported:
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
        return last + 1

    def _finish(self, walk: Walk, database: Database | None = None) -> None:
        check = walk.end()
        if check is None:
            return
        check.finish(is_complete=database is not None)
        if database is None:
            check.doubt("events after it are missing", also_firm=False)
        else:
            self._progress(self.findings.counts.events, "the database")
            compare(check, database)


def _exported_until(files: list[JournalFile], walk: Walk) -> int:
    """Find the newest journal batch that a segment might contain. Return its first sequence number.

    A segment might contain a batch if a segment from the same broker run has been read. Return 0 if
    there is no such batch.
    """
    for file in reversed(files):
        for blob in reversed(file.blobs(is_newest=file is files[-1]) or []):
            if walk.has_read(boot_of(blob)):
                return sequence_of(blob)
    return 0
