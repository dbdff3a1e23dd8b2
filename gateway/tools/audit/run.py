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
from gateway.broker.store.formats import refuse_other_database
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    JournalFile,
    boot_of,
    journal_files,
    sequence_of,
)
from gateway.tools.audit.final_state import Database, compare
from gateway.tools.audit.findings import Finding, Findings
from gateway.tools.audit.log_reader import EventRange, LogReader
from gateway.tools.audit.rivals import rejected_rivals
from gateway.tools.audit.segments import event_range_of, in_order, segments_below
from gateway.tools.audit.signature_trust import SignatureTrust
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

        Args:
            source: the data directory or folder. The result contains its path.
            progress: called with the number of checked events and the current file.
            pinned: the public keys from the `--keys` file, keyed by gateway.
        """
        self.findings = Findings(str(source))
        self._trust = SignatureTrust(pinned)
        self.findings.signatures = self._trust.segments
        self._progress = progress
        self._readers: dict[str, LogReader] = {}
        self._judged: set[str] = set()
        self._strange: set[Path] = set()

    def folder(self, directory: Path) -> Findings:
        """Audit all segments in a directory and its subfolders.

        Raises `OSError` if a file cannot be read.
        """
        self._segments([directory])
        for reader in self._readers.values():
            self._finish(reader)
        return self.findings

    def data_directory(self, data_dir: Path, gateway: str) -> Findings:
        """Audit a gateway's whole log up to now, and compare it with the database.

        Raises `OSError` and `sqlite3.Error` if a file or the database cannot be read.
        """
        refuse_other_database(data_dir / DATABASE_NAME)
        log = data_dir / "log"
        self._trust.add_keys(gateway, public_keys_in(log))
        directories = [log / "sealed", log / "sent", data_dir / "uploaded"]
        self._segments(directories)
        with closing(connect_read_only(data_dir / DATABASE_NAME)) as connection:
            connection.execute("BEGIN")
            # The first read fixes the snapshot. All that was exported before is now sealed.
            connection.execute("SELECT count(*) FROM meta").fetchone()
            self._segments(directories)
            reader = self._reader_of(gateway)
            end_sequence = self._journal(data_dir, directories, reader)
            self._finish(reader, Database(connection, data_dir, end_sequence))
        for other in self._readers.values():
            if other is not reader:
                self._finish(other)
        return self.findings

    def _reader_of(self, gateway: str) -> LogReader:
        if gateway not in self._readers:
            self._readers[gateway] = LogReader(self.findings, gateway)
        return self._readers[gateway]

    def _segments(self, directories: list[Path]) -> None:
        found, strange = segments_below(directories)
        rejected = rejected_rivals(found, self._trust)
        for name, path in in_order(found):
            if path.name in self._judged:
                continue
            self._judged.add(path.name)
            reader = self._reader_of(name.gateway)
            try:
                event_range = event_range_of(name, path)
                objection = rejected.get(path.name)
                objection = objection or self._trust.objection_to(name, event_range.public_key)
                if objection is None:
                    reader.take(event_range)
                else:
                    reader.damaged(path.name, objection)
            except UnknownVersion as unknown:
                reader.damaged(path.name, f"segment {name.segment} cannot be read: {unknown}")
            except DamagedSegment as damage:
                reader.damaged(path.name, f"segment {name.segment} is damaged: {damage}")
            self.findings.counts.segments += 1
            self._progress(self.findings.counts.events, f"segment {name.segment}")
        for path in strange:
            if path in self._strange:
                continue
            self._strange.add(path)
            detail = "its name is no segment's name: it was renamed, and not read"
            self.findings.add(Finding("inconclusive", "log", "", "", detail, segment=path.name))

    def _journal(self, data_dir: Path, directories: list[Path], reader: LogReader) -> int:
        """Check the batches of the journal that no segment contains yet.

        Return the sequence number after the last event in the journal.
        """
        files = journal_files(data_dir / FOLDER_NAME)
        exported_until = _exported_until(files, reader)
        end_sequence = 1
        for file in files:
            blobs = file.blobs(is_newest=file is files[-1])
            if blobs is None:
                # The journal file was removed meanwhile, so a segment contains its batches now.
                self._segments(directories)
                continue
            for blob in blobs:
                end_sequence = max(end_sequence, self._batch(reader, blob, exported_until))
        return end_sequence

    def _batch(self, reader: LogReader, blob: bytes, exported_until: int) -> int:
        """Check one encoded batch of the journal.

        Return the sequence number after the batch's last event, or 0 if the batch is damaged.
        """
        sequence = sequence_of(blob)
        try:
            batch = decode(blob)
        except DamagedBlob as damage:
            if reader.check is None or sequence >= reader.check.next_sequence:
                reader.damaged("journal", f"the batch at sequence {sequence}: {damage}")
            return 0
        last = batch.first_sequence + len(batch.events) - 1
        is_exported = sequence <= exported_until and reader.is_past(batch.store, last)
        # If the batch was in a missing segment, the gap was already reported.
        if not reader.has_seen(batch.store, batch.boot, last) and not is_exported:
            for event in batch.events:
                event["time"] = batch.time_ms
            reader.take(
                EventRange(
                    reader.gateway,
                    batch.store,
                    batch.boot,
                    batch.first_sequence,
                    batch.events,
                    "journal",
                )
            )
            self._progress(self.findings.counts.events, "journal")
        return last + 1

    def _finish(self, reader: LogReader, database: Database | None = None) -> None:
        check = reader.end()
        if check is None:
            return
        check.finish(is_complete=database is not None)
        if database is None:
            check.report_unknown_outcomes("events after it are missing", include_all=False)
        else:
            self._progress(self.findings.counts.events, "the database")
            compare(check, database)


def _exported_until(files: list[JournalFile], reader: LogReader) -> int:
    """Return the first sequence number of the newest batch that may have been exported.

    A batch in the journal may have been exported to a segment if a segment from the same broker run
    has been read. Return 0 if there is no such batch.
    """
    for file in reversed(files):
        for blob in reversed(file.blobs(is_newest=file is files[-1]) or []):
            if reader.has_read(boot_of(blob)):
                return sequence_of(blob)
    return 0
