"""The journal as a start reads it: from the checkpoint to its end, and what is wrong on the way.

What cannot be read is tried again, then reported, and never mistaken for the journal's end: behind
a block that the medium does not return there may be batches that were acknowledged.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from gateway.core.records.blob import Blob, DamagedBlob
from gateway.store.formats import refuse_newer_blob
from gateway.store.journal_files import (
    FRAME,
    HEADER_BYTES,
    JournalFile,
    frames,
    placed_files,
)
from gateway.store.medium import READ_ATTEMPTS, Contents

Gap = tuple[int, int]
"""First and last sequence number of what is missing."""


class JournalReading:
    """The blobs of a journal from a checkpoint on, in order, and what was wrong with it.

    While the broker writes, what is read last may be a batch that is not durable yet.

    Args:
        folder: the journal's.
        checkpoint: the first sequence number that the tables do not cover.
        passed_over: what earlier starts could not read and went on without. It never counts again,
            even if the medium gives it back: later batches were recorded as if it had not been.
    """

    def __init__(self, folder: Path, checkpoint: int, passed_over: Iterable[Gap] = ()) -> None:
        self.folder = folder
        self.checkpoint = checkpoint
        self.files, self.unplaced = placed_files(folder, READ_ATTEMPTS)
        """Files in order; and those of which nothing can be read, wherever they belong."""
        self.damage: list[str] = []
        self.gaps: list[Gap] = []
        """What this reading could not read behind the checkpoint, other than what it looked for
        behind the newest blob."""
        self.unread_end_bytes = 0
        """Bytes behind the newest blob that the medium does not give back: they may hold batches
        that were acknowledged. 0: the end was seen."""
        self.end: tuple[JournalFile, int, int] | None = None
        """The newest blob's file, where its frame begins and where it ends."""
        self.next_sequence = 1
        """Behind the newest blob."""
        self._passed_over = sorted(passed_over)
        self._reason = ""

    def blobs(self) -> Iterator[Blob]:
        """Yield the blobs from `checkpoint` on, and those before it in the same file.

        A newest blob that is not whole was being written when the power was cut: nothing of it
        was acknowledged, and it is passed over.

        Raises OtherFormat for a blob that a later version wrote, OSError.
        """
        first = 0
        for index, file in enumerate(self.files):
            if file.first_sequence <= self.checkpoint:
                first = index
        read: list[tuple[JournalFile, Contents]] = []
        for file in self.files[first:]:
            if file.salt is None:
                self.damage.append(f"the header of {file.path.name} in the journal is damaged")
            contents = file.read(READ_ATTEMPTS)
            if contents is not None:
                read.append((file, Contents(b"", contents.unreadable)))
                yield from self._blobs_in(file, contents.data)
        self._look_at_the_end(read)
        if self.next_sequence < self.checkpoint and not self._is_passed_over(
            self.next_sequence, self.checkpoint - 1
        ):
            self.damage.append(
                f"journal events {self.next_sequence} to {self.checkpoint - 1} cannot be read: "
                "they are in the tables"
            )

    def _blobs_in(self, file: JournalFile, contents: bytes) -> Iterator[Blob]:
        for at, content in frames(contents, HEADER_BYTES, file.salt):
            try:
                blob = Blob(content)
            except DamagedBlob as error:
                refuse_newer_blob(file.path, content)
                self._reason = f": {error}"
                continue
            if blob.first_sequence < self.next_sequence:
                continue  # from an earlier use of a file whose header is damaged
            if self._is_passed_over(blob.first_sequence, blob.first_sequence):
                continue  # it has become readable again
            self._note_gap(max(self.next_sequence, self.checkpoint), blob.first_sequence - 1)
            self.next_sequence = blob.first_sequence + blob.record_count
            self.end = (file, at, at + FRAME.size + len(content))
            yield blob

    def _note_gap(self, first: int, last: int) -> None:
        if first <= last and not self._is_passed_over(first, last):
            self.damage.append(f"journal events {first} to {last} cannot be read{self._reason}")
            self.gaps.append((first, last))
        self._reason = ""

    def _is_passed_over(self, first: int, last: int) -> bool:
        """Return whether all of a stretch is what earlier starts went on without."""
        for gap_first, gap_last in self._passed_over:
            if gap_first <= first <= gap_last:
                first = gap_last + 1
        return first > last

    def _look_at_the_end(self, read: list[tuple[JournalFile, Contents]]) -> None:
        """Report what cannot be read behind the newest blob, in its file and in those behind it.

        What lies before it is a gap in the numbers, and reported as that.
        """
        found: list[str] = []
        is_behind = self.end is None
        for file, contents in read:
            at = 0
            if self.end is not None and file is self.end[0]:
                is_behind, at = True, self.end[2]
            size_bytes = sum(r.stop - max(at, r.start) for r in contents.unreadable if r.stop > at)
            if is_behind and size_bytes:
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
