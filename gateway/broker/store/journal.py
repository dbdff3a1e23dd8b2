"""The journal on disk. A commit takes one write and one fdatasync.

All files have the same length and are written from front to end. A file is reused once its events
are in the tables and exported. Reuse avoids allocating disk space and changing metadata.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gateway.broker.store.journal_files import (
    FILE_PATTERN,
    FOLDER_NAME,
    FRAME,
    HEADER_BYTES,
    NUMBER_DIGITS,
    SALT_BYTES,
    JournalFile,
    frame_of,
    header_of,
)
from gateway.broker.store.journal_scan import JournalScan
from gateway.broker.store.medium import BLOCK_BYTES, read_at
from gateway.broker.store.no_room import NoRoom, no_room_of
from gateway.broker.store.spare_files import SpareFiles
from gateway.process.files.disk_errors import is_full
from gateway.process.files.durable import fsync_folder, pwrite_all
from gateway.process.files.private import open_private

FILE_BYTES = 4 * 1024 * 1024
"""Length of a journal file in bytes. The journal shrinks only by whole files, so a file must not be
too long. It must not be too short either, because starting another file takes two fsyncs."""

ROOM_BYTES = 64 * 1024
"""Bytes by which a file grows at a time. A commit that makes a file longer takes up to twice as
long, because the file system then also writes the new length."""

SMALL_FRAME_BYTES = ROOM_BYTES // 4
"""Largest frame, in bytes, after which the file is lengthened in advance for later frames. After a
larger frame, this would take too long."""

DROP_FILES_MAX = 4
"""Maximum files deleted between two commits. The file system takes time to free their blocks."""


class Journal:
    """The only writer of the journal's files.

    `append` can run in another thread. While it is running, only `has_droppable` and `total_bytes`
    may be used.
    """

    def __init__(self, data_dir: Path, file_bytes: int = FILE_BYTES) -> None:
        self.folder = data_dir / FOLDER_NAME
        self.file_bytes = file_bytes
        self.spare_files = SpareFiles(self.folder)
        self._files: list[JournalFile] = []
        """The files in order. The last and newest file is being written to."""
        self._number = 0
        self._descriptor = -1
        self._at = 0
        """Position of the next frame in the newest file."""
        self._length = 0
        """Length of the newest file in bytes. Only a commit beyond it makes the file longer."""
        self._ahead = b""
        """A frame that is already in the file, at the position of the next frame."""
        self._is_torn = False
        """True if a complete or partial frame that is not committed may follow the newest frame."""

    def resume(self, scan: JournalScan) -> None:
        """Prepare to append after the newest blob. Raises OSError on failure.

        `scan` is the completed scan of the journal at startup. If it found damage, the next blob
        goes into a new file, and the existing files are not changed.
        """
        self.folder.mkdir(exist_ok=True)
        self._files = list(scan.files)
        numbers = (int(path.stem) for path in self.folder.glob(FILE_PATTERN))
        # The name of a missing file is not used again: the file may reappear.
        self._number = max((scan.known_file, *numbers))
        if scan.end is None or scan.end[0].salt is None:
            return
        if scan.gaps or scan.unread_end_bytes or scan.is_end_damaged:
            return
        file, start, end = scan.end
        if file is not self._files[-1]:
            return
        self._descriptor = open_private(file.path, os.O_RDWR)
        self._length = file.size_bytes
        # The newest frame is written again: if the last fsync of the previous broker failed, the
        # page cache may differ from the disk.
        newest = read_at(self._descriptor, end - start, start)
        # Zeros after it: a torn frame there would look like damage if the next frame did not fit
        # and were written into another file.
        nothing = bytes(min(FRAME.size, max(0, self._length - end)))
        pwrite_all(self._descriptor, newest + nothing, start)
        os.fdatasync(self._descriptor)
        self._at = file.size_bytes = end

    @property
    def position(self) -> tuple[int, int]:
        """The number in the newest file's name, and the offset at which its newest frame ends."""
        return self._number, self._files[-1].size_bytes if self._files else 0

    # -- a batch

    def has_room(self, blob_bytes: int) -> bool:
        """Return True if the newest file has room for a blob of this size in bytes.

        The newest file can be longer than usual if it was the reserve for a full disk.
        """
        end = self._at + FRAME.size + blob_bytes
        return self._descriptor >= 0 and (end <= self.file_bytes or end <= self._length)

    def write_ahead(self, blob: bytes) -> None:
        """Write the frame of the blob that will be appended next, if it fits into the newest file.

        Errors are ignored, since `append` will encounter them again.
        """
        if not self.has_room(len(blob)):
            return
        salt = self._files[-1].salt
        assert salt is not None
        frame = frame_of(salt, blob)
        self._is_torn = True
        with suppress(OSError):
            pwrite_all(self._descriptor, frame, self._at)
            self._ahead = frame

    def append(self, first_sequence: int, blob: bytes) -> None:
        """Append a blob durably. If the disk is full, use the space of the reserve file.

        Raises:
            NoRoom: the disk is full and the reserve is used up. Part of the blob might be in the
                file, which is harmless because the next append overwrites it. The call may be
                retried.
            OSError: any other error, after which nothing more may be appended.
        """
        try:
            if self.has_room(len(blob)):
                file = self._files[-1]
                assert file.salt is not None
                self._write(self._ahead or frame_of(file.salt, blob))
                file.size_bytes = self._at
            else:
                self._close_full_file()
                self._start_file(first_sequence, blob, self.spare_files.spare)
        except NoRoom:
            source = self.spare_files.with_room(HEADER_BYTES + FRAME.size + len(blob))
            if source is None:
                raise
            self._close_full_file()
            self._start_file(first_sequence, blob, source)

    def _close_full_file(self) -> None:
        """Close the newest file before the next blob is appended to a new file."""
        if self._descriptor < 0:
            return
        if self._is_torn:
            # Zeros replace the partly written batch, which goes into another file: see `resume`.
            with suppress(OSError):
                pwrite_all(self._descriptor, bytes(FRAME.size), self._at)
            os.fdatasync(self._descriptor)
            self._is_torn = False
        os.close(self._descriptor)
        self._descriptor = -1

    def _start_file(self, first_sequence: int, blob: bytes, source: Path) -> None:
        """Write the header and the first frame to the file `source`, then make it a journal file.

        After NoRoom, the call can be repeated. It then writes the header and the frame again.
        """
        salt = secrets.token_bytes(SALT_BYTES)
        path = self.folder / f"{self._number + 1:0{NUMBER_DIGITS}d}.ogj"
        length = 0
        try:
            self._descriptor = open_private(source, os.O_RDWR | os.O_CREAT)
            self._length = length = os.fstat(self._descriptor).st_size
            self._at = 0
            self._write(header_of(salt, first_sequence) + frame_of(salt, blob))
            source.rename(path)
            fsync_folder(self.folder)
        except OSError as error:
            self.close()
            if not is_full(error):
                raise
            if source.exists() and not length:
                source.unlink()  # a partly written spare is not worth keeping
            raise no_room_of(error) from None
        self._number += 1
        self._files.append(JournalFile(path, first_sequence, salt, self._at))

    def _write(self, data: bytes) -> None:
        end = self._at + len(data)
        try:
            if not self._ahead:
                pwrite_all(self._descriptor, data, self._at)
        except OSError as error:
            if not is_full(error):
                raise
            self._is_torn = True
            raise no_room_of(error) from None
        self._ahead = b""
        self._is_torn = False
        if end > self._length:
            self._length = end
            if len(data) <= SMALL_FRAME_BYTES:
                self._make_room()
        # After any failure here the state of the disk is uncertain, so this is not NoRoom.
        os.fdatasync(self._descriptor)
        self._at = end

    def _make_room(self) -> None:
        """Add zeros to the newest file to make room for later frames, if the disk has space."""
        length = min(-(-self._length // ROOM_BYTES) * ROOM_BYTES, self.file_bytes)
        # Block by block, because the kernel buffers and counts a large write only as a whole.
        while self._length < length:
            end = min((self._length // BLOCK_BYTES + 1) * BLOCK_BYTES, length)
            try:
                pwrite_all(self._descriptor, bytes(end - self._length), self._length)
            except OSError as error:
                if not is_full(error):
                    raise
                return
            self._length = end

    # -- files that are no longer needed

    @property
    def total_bytes(self) -> int:
        """Total size of all stored events in bytes."""
        return sum(file.size_bytes for file in self._files)

    def has_droppable(self, before_sequence: int) -> bool:
        """Return True if `drop` could delete a file.

        A file can be deleted if it is not the newest and contains only events before
        `before_sequence`.
        """
        return any(True for _ in self._droppable(before_sequence))

    def droppable(self, before_sequence: int) -> list[tuple[Path, int, int, int]]:
        """Return the files that `drop` can delete.

        Each file is returned as its path, its size, and its first and last sequence numbers.
        """
        return [
            (file.path, file.size_bytes, file.first_sequence, after - 1)
            for file, after in self._droppable(before_sequence)
        ]

    def _droppable(self, before_sequence: int) -> Iterator[tuple[JournalFile, int]]:
        """Yield the files that can be deleted, oldest first, each with the end of its events.

        The events of a file end where the next file with an intact header begins.
        """
        before: list[JournalFile] = []
        for file in self._files:
            if before and file.salt is not None:
                if file.first_sequence > before_sequence:
                    return
                yield from ((each, file.first_sequence) for each in before)
                before = []
            before.append(file)

    def drop(self, before_sequence: int, bytes_max: int = 0) -> tuple[int, int] | None:
        """Delete the oldest files that contain only events before `before_sequence`.

        Args:
            before_sequence: the first sequence number to keep.
            bytes_max: deletion stops once the journal is no larger than this.

        Returns:
            The first deleted sequence number and the first remaining one, or None if nothing was
            deleted. A power cut can restore deleted files, which is harmless.
        """
        first = self._files[0].first_sequence if self._files else 0
        for _ in range(DROP_FILES_MAX):
            if not self.has_droppable(before_sequence) or self.total_bytes <= bytes_max:
                break
            self.spare_files.keep_or_delete(self._files.pop(0).path, self.file_bytes)
        now_first = self._files[0].first_sequence if self._files else 0
        return (first, now_first) if now_first > first else None

    def close(self) -> None:
        """Close the newest file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._is_torn = False
