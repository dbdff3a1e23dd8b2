"""The journal on disk: a batch is one write and one fdatasync, and nothing else is waited for.

Files of one length, written from front to end; those that are both in the tables and exported are
used again, so that a journal that is exported takes no new room and changes no metadata.
"""

import os
import secrets
from pathlib import Path

from gateway.store.database import fsync_folder
from gateway.store.journal_files import (
    BLOCK_BYTES,
    FILE_PATTERN,
    FOLDER_NAME,
    FRAME,
    NUMBER_DIGITS,
    SALT_BYTES,
    JournalFile,
    JournalReading,
    frame_of,
    header_of,
)

FILE_BYTES = 4 * 1024 * 1024
"""Length of a file, the unit in which the journal is dropped. Another file takes two fsyncs."""

ROOM_BYTES = 64 * 1024
"""A file that grows gets so much room at once: the file system writes a new length with each commit
that needs one, which takes up to twice as long as one that does not."""

SMALL_FRAME_BYTES = ROOM_BYTES // 4
"""Larger frames get no room behind them: it would cost more than it saves."""

SPARE_NAME = "spare"
"""A file whose events are no longer wanted, until it is begun anew."""

DROP_FILES_MAX = 4
"""Files dropped between two commits: to free the blocks of one takes the file system some time."""


class Journal:
    """The files of the journal, as their only writer sees them.

    `append` may run on another thread; meanwhile others may look and not touch (`total_bytes`,
    `has_droppable`).
    """

    def __init__(self, data_dir: Path, file_bytes: int = FILE_BYTES) -> None:
        self.folder = data_dir / FOLDER_NAME
        self.file_bytes = file_bytes
        self._files: list[JournalFile] = []
        """The newest is the one that is written to."""
        self._number = 0
        self._descriptor = -1
        self._at = 0
        """Where the next frame goes."""
        self._length = 0
        """Of the file that is written to: up to here no commit makes it longer."""

    def resume(self, reading: JournalReading) -> None:
        """Go on behind the newest blob of earlier runs, all of which were read. Raises OSError."""
        self.folder.mkdir(exist_ok=True)
        self._files = list(reading.files)
        numbers = (int(path.stem) for path in self.folder.glob(FILE_PATTERN))
        self._number = max(numbers, default=0)
        if reading.end is None or reading.end[0].salt is None:
            return
        file, start, end = reading.end
        if file is not self._files[-1]:
            return
        self._descriptor = os.open(file.path, os.O_RDWR)
        self._length = file.size_bytes
        # Once more: if the last fsync of the broker before us failed, the page cache need not tell
        # what the disk has.
        newest = os.pread(self._descriptor, end - start, start)
        # Zeros behind it: a frame that was torn there would look like damage once the next one,
        # because it does not fit here, goes into another file.
        nothing = bytes(min(FRAME.size, max(0, self._length - end)))
        self._pwrite(newest + nothing, start)
        os.fdatasync(self._descriptor)
        self._at = file.size_bytes = end

    # -- a batch

    def append(self, first_sequence: int, blob: bytes) -> None:
        """Make a blob durable. Raises OSError, after which nothing more may be appended."""
        if self._descriptor >= 0:
            file = self._files[-1]
            assert file.salt is not None
            frame = frame_of(file.salt, blob)
            if self._at + len(frame) <= self.file_bytes:
                self._write(frame)
                file.size_bytes = self._at
                return
            os.close(self._descriptor)
            self._descriptor = -1
        self._begin_file(first_sequence, blob)

    def _begin_file(self, first_sequence: int, blob: bytes) -> None:
        """Write header and first frame, and only then give the file its name."""
        self._number += 1
        salt = secrets.token_bytes(SALT_BYTES)
        spare = self.folder / SPARE_NAME
        self._descriptor = os.open(spare, os.O_RDWR | os.O_CREAT, 0o644)
        self._length = os.fstat(self._descriptor).st_size
        self._at = 0
        self._write(header_of(salt, first_sequence) + frame_of(salt, blob))
        path = self.folder / f"{self._number:0{NUMBER_DIGITS}d}.ogj"
        spare.rename(path)
        fsync_folder(self.folder)
        self._files.append(JournalFile(path, first_sequence, salt, self._at))

    def _write(self, data: bytes) -> None:
        end = self._at + len(data)
        self._pwrite(data, self._at)
        if end > self._length:
            self._length = end
            if len(data) <= SMALL_FRAME_BYTES:
                self._make_room()
        os.fdatasync(self._descriptor)
        self._at = end

    def _make_room(self) -> None:
        """Write zeros up to where the next commits will write."""
        length = min(-(-self._length // ROOM_BYTES) * ROOM_BYTES, self.file_bytes)
        # Block by block: what comes in one write the kernel keeps, and counts as written, in one.
        while self._length < length:
            end = min((self._length // BLOCK_BYTES + 1) * BLOCK_BYTES, length)
            self._pwrite(bytes(end - self._length), self._length)
            self._length = end

    def _pwrite(self, data: bytes, at: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, at)
            view = view[written:]
            at += written

    # -- what is no longer wanted

    @property
    def total_bytes(self) -> int:
        """Bytes of all events that are kept."""
        return sum(file.size_bytes for file in self._files)

    def has_droppable(self, before_sequence: int) -> bool:
        """Return whether a file holds nothing from `before_sequence` on. The newest one stays."""
        return len(self._files) > 1 and self._files[1].first_sequence <= before_sequence

    def drop(self, before_sequence: int, bytes_max: int = 0) -> tuple[int, int] | None:
        """Drop the oldest files that hold nothing from `before_sequence` on.

        Args:
            before_sequence: what may be dropped.
            bytes_max: how many bytes may stay.

        Returns:
            First sequence number that is gone, and the first that is there; None: nothing went.
            A power cut may bring files back, which is harmless.
        """
        first = self._files[0].first_sequence if self._files else 0
        for _ in range(DROP_FILES_MAX):
            if not self.has_droppable(before_sequence) or self.total_bytes <= bytes_max:
                break
            self._let_go_of(self._files.pop(0).path)
        now_first = self._files[0].first_sequence if self._files else 0
        return (first, now_first) if now_first > first else None

    def _let_go_of(self, path: Path) -> None:
        spare = self.folder / SPARE_NAME
        if spare.exists() or path.stat().st_size > self.file_bytes:
            path.unlink()
        else:
            path.rename(spare)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
