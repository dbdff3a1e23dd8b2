"""Scans the journal from the checkpoint to the end, for recovery and audits. Detects damage.

Unreadable data is read again several times before it is reported as damage. It is never treated as
the end of the journal, because acknowledged batches might follow it.
"""

import heapq
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from gateway.broker.core.records.blob import Blob, DamagedBlob
from gateway.broker.store.damaged_files import FoundBatch, batches_in, damaged_of, in_order
from gateway.broker.store.formats import refuse_other_blob
from gateway.broker.store.journal_end import JournalEnd
from gateway.broker.store.journal_files import (
    FRAME,
    HEADER_BYTES,
    NUMBER_DIGITS,
    JournalFile,
    belongs_to,
    frames,
    placed_files,
    store_of,
)
from gateway.broker.store.medium import READ_ATTEMPTS, Contents

Gap = tuple[int, int]
"""First and last missing sequence number."""

Batch = tuple[JournalFile, int, Blob]
"""A batch: its file, the offset of its frame in bytes, and its blob."""


def _start(batch: Batch) -> int:
    return batch[2].first_sequence


class JournalScan:
    """One pass over a journal's blobs since a checkpoint, with reports of the damage found.

    While the broker is running, the last blob might be a batch that is not durable yet.

    Args:
        folder: folder of the journal.
        checkpoint: the first sequence number that the tables do not cover.
        skipped_gaps: ranges of sequence numbers that earlier starts skipped because they were
            unreadable. Their events are never applied, even if they become readable again, because
            later batches were recorded without them.
        stores: ids of the stores whose batches are accepted. If empty, any store is accepted.
        known_end: the recorded end of the journal, read before the files. The journal's actual end
            must not be earlier.
    """

    def __init__(
        self,
        folder: Path,
        checkpoint: int,
        skipped_gaps: Iterable[Gap] = (),
        stores: Collection[str] = (),
        known_end: JournalEnd | None = None,
    ) -> None:
        self.folder = folder
        self.checkpoint = checkpoint
        self.files, self.unplaced = placed_files(folder, READ_ATTEMPTS)
        """Files in order, and paths of unreadable files, whose position is unknown."""
        self.damage: list[str] = []
        self.stores = set() if known_end is None else {known_end.store}
        """Ids of the stores named by the end record and by the batches."""
        self.known_end = known_end
        self.is_end_missing = False
        """True if durable batches are missing at the end of the journal."""
        self.end_events = 0
        """Number of events in the batches that are missing at the end."""
        self.end_messages = 0
        """Number of message numbers assigned in the batches that are missing at the end. Not all
        of these numbers belong to a recorded message."""
        self._accepted_stores = frozenset(stores)
        if stores:
            self._ignore_foreign_files(stores)
        self.gaps: list[Gap] = []
        """Gaps in the sequence numbers after the checkpoint. Unreadable bytes after the newest blob
        are counted in `unread_end_bytes` instead."""
        self.unread_end_bytes = 0
        """Unreadable bytes after the newest blob. They may have held acknowledged batches. 0 if the
        end of the journal was read."""
        self.end: tuple[JournalFile, int, int] | None = None
        """File of the newest blob, and the offsets at which its frame begins and ends."""
        self.is_end_damaged = False
        """True if bytes before the newest blob in its file are damaged."""
        self.next_sequence = 1
        """Sequence number after the last event of the newest blob."""
        self._skipped_gaps = sorted(skipped_gaps)
        self._reason = ""

    @property
    def known_end_sequence(self) -> int:
        """The first sequence number after the recorded end of the journal, or 0 if unknown."""
        return 0 if self.known_end is None else self.known_end.next_sequence

    @property
    def known_file(self) -> int:
        """The number of the newest file according to the end record, or 0 if there is no record."""
        return 0 if self.known_end is None else self.known_end.file_number

    def _ignore_foreign_files(self, stores: Collection[str]) -> None:
        """Ignore journal files that belong to another gateway or to an earlier database."""
        for file in list(self.files):
            try:
                store = None if belongs_to(file, stores) else store_of(file)
            except FileNotFoundError:
                continue  # the file was deleted meanwhile
            if store is not None and store not in stores:
                self.files.remove(file)
                self.damage.append(
                    f"{file.path.name} in the journal is of another store ({store}) and left out"
                )

    def blobs(self) -> Iterator[Blob]:
        """Yield the blobs from the checkpoint on, and earlier blobs that are in the same file.

        An incomplete blob at the end is skipped. A power cut interrupted its writing, so the blob
        was never acknowledged. Raises OSError if reading fails, and OtherFormat for a blob of
        another version.
        """
        starts = [file.first_sequence for file in self.files if file.salt is not None]
        first = max((start for start in starts if start <= self.checkpoint), default=0)
        # A file with a damaged header is always read: the header does not state what it contains.
        files = [file for file in self.files if file.salt is None or file.first_sequence >= first]
        read: dict[Path, Contents] = {}
        batches = heapq.merge(
            self._batches_of_damaged(files, read), self._batches_of_intact(files, read), key=_start
        )
        for file, at, blob in batches:
            if self._accept(file, at, blob):
                yield blob
        self._check_end([(file, read[file.path]) for file in files if file.path in read])
        if self.next_sequence < self.checkpoint and not self._is_skipped(
            self.next_sequence, self.checkpoint - 1
        ):
            self.damage.append(
                f"journal events {self.next_sequence} to {self.checkpoint - 1} cannot be read: "
                "they are in the tables"
            )

    def _batches_of_damaged(
        self, files: list[JournalFile], read: dict[Path, Contents]
    ) -> Iterator[Batch]:
        found: list[FoundBatch] = []
        for file in damaged_of(files):
            self.damage.append(f"the header of {file.path.name} in the journal is damaged")
            contents = file.read(READ_ATTEMPTS)
            if contents is not None:
                read[file.path] = Contents(b"", contents.unreadable)
                found += batches_in(file, contents)
        for batch in in_order(found, self._accepted_stores):
            for content in batch.read(READ_ATTEMPTS):
                yield from self._opened(batch.file, batch.at, content)

    def _batches_of_intact(
        self, files: list[JournalFile], read: dict[Path, Contents]
    ) -> Iterator[Batch]:
        for file in files:
            contents = None if file.salt is None else file.read(READ_ATTEMPTS)
            if contents is None:
                continue
            read[file.path] = Contents(b"", contents.unreadable)
            for at, content in frames(contents.data, HEADER_BYTES, file.salt):
                yield from self._opened(file, at, content)

    def _opened(self, file: JournalFile, at: int, content: bytes) -> list[Batch]:
        """Return the batch in a list, which is empty if the blob is damaged."""
        try:
            return [(file, at, Blob(content))]
        except DamagedBlob as error:
            refuse_other_blob(file.path, content)
            self._reason = f": {error}"
            return []

    def _accept(self, file: JournalFile, at: int, blob: Blob) -> bool:
        """Continue after this blob. Return False if it must not be applied."""
        if blob.first_sequence < self.next_sequence:
            return False  # another copy
        if self._is_skipped(blob.first_sequence, blob.first_sequence):
            return False  # skipped by an earlier start, and readable again
        first = max(self.next_sequence, self.checkpoint)
        self._note_gap(first, blob.first_sequence - 1, self._location_before(file, at))
        self.next_sequence = blob.first_sequence + blob.record_count
        self.stores.add(blob.store)
        is_same = self.end is not None and self.end[0] is file
        expected = self.end[2] if self.end is not None and is_same else HEADER_BYTES
        self.is_end_damaged = at != expected or (is_same and self.is_end_damaged)
        self.end = (file, at, at + FRAME.size + len(blob.data))
        return True

    def _location_before(self, file: JournalFile, at: int) -> str:
        """Return a phrase for a log message that states where data is damaged.

        The damage is between the last blob read so far and the blob at the offset `at` of `file`.
        """
        if self.end is not None and self.end[0] is file:
            return f"{at - self.end[2]} bytes of {file.path.name}"
        if at > HEADER_BYTES:
            return f"{at - HEADER_BYTES} bytes of {file.path.name}"
        return f"before {file.path.name}"

    def _note_gap(self, first: int, last: int, where: str) -> None:
        if first <= last and not self._is_skipped(first, last):
            self.damage.append(
                f"journal events {first} to {last} cannot be read ({where}){self._reason}"
            )
            self.gaps.append((first, last))
        self._reason = ""

    def check_recorded_end(self, next_sequence: int, next_message: int) -> None:
        """Report all events that are missing because the journal ends before its recorded end.

        Args:
            next_sequence: the sequence number after the last event that was found.
            next_message: the number after the highest message number that was found.
        """
        known = self.known_end
        if known is None or self._is_skipped(next_sequence, self.known_end_sequence - 1):
            return
        name = f"{known.file_number:0{NUMBER_DIGITS}d}.ogj"
        found_bytes = 0
        if self.end is not None and self.end[0].path.name == name:
            found_bytes = self.end[2]
        lost_bytes = max(0, known.end_bytes - found_bytes)
        last = known.next_sequence - 1
        self.is_end_missing = True
        self.end_events = known.next_sequence - next_sequence
        self.end_messages = max(0, known.next_message - next_message)
        self.gaps.append((next_sequence, last))
        self.damage.append(
            f"the end of the journal is missing: events {next_sequence} to {last}, which were "
            f"acknowledged, are lost ({lost_bytes} of {known.end_bytes} bytes of {name})"
        )

    def _is_skipped(self, first: int, last: int) -> bool:
        """Return True if earlier starts skipped all sequence numbers from `first` to `last`."""
        for gap_first, gap_last in self._skipped_gaps:
            if gap_first <= first <= gap_last:
                first = gap_last + 1
        return first > last

    def _check_end(self, read: list[tuple[JournalFile, Contents]]) -> None:
        """Report unreadable bytes after the newest blob, either in its file or in later files.

        `read` contains the scanned files, with their unreadable parts. Unreadable bytes before the
        newest blob are reported as a gap in the sequence numbers.
        """
        found: list[str] = []
        is_after_end = self.end is None
        for file, contents in read:
            at = 0
            if self.end is not None and file is self.end[0]:
                is_after_end, at = True, self.end[2]
            size_bytes = sum(r.stop - max(at, r.start) for r in contents.unreadable if r.stop > at)
            if is_after_end and size_bytes:
                self.unread_end_bytes += size_bytes
                found.append(f"{size_bytes} bytes of {file.path.name}")
        for path in self.unplaced:
            self.unread_end_bytes += path.stat().st_size
            found.append(f"all of {path.name}")
        if found:
            self.damage.append(
                f"the end of the journal cannot be read ({', '.join(found)}): "
                "what was acknowledged there is lost"
            )
