"""Reads the journal in portions for other processes, even while the broker is running."""

import errno
import logging
import os
from pathlib import Path

from gateway.broker.core.records.blob import has_valid_crc
from gateway.broker.store.damaged_files import (
    FoundBatch,
    batches_in,
    damaged_of,
    in_order,
    last_start,
    merged,
)
from gateway.broker.store.formats import refuse_other_blob
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    HEADER_BYTES,
    JournalFile,
    frames,
    placed_files,
    salt_in,
    sequence_of,
)
from gateway.broker.store.medium import read_at, read_blocks
from gateway.process.files.disk_errors import is_unreadable, line_of
from gateway.process.files.durable import fsync_file

logger = logging.getLogger(__name__)

READ_AHEAD_BYTES = 64 * 1024
"""Bytes of the newest file that are read beyond `bytes_max`. The rest of the file is not read,
since it may be from an earlier use."""


UNREADABLE_TRIES_MAX = 40
"""Consecutive failed calls before the export skips unreadable blocks, which leaves a gap in the
session log. At the exporter's pace, the calls take ten seconds. The broker's startup retries for
less than a second, because clients are waiting."""


class JournalReader:
    """Reader of the journal's blobs. A broker may write to the journal at the same time."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER_NAME
        self._readable = True
        self._salt: bytes | None = None
        self._at = HEADER_BYTES
        """Position of the newest blob that was read, in the file whose salt is `_salt`."""
        self._sequence = 0
        """Sequence number of the newest blob that was read."""
        self._synced: tuple[bytes | None, int] | None = None
        """Salt of the file with the newest blob known to be durable, and the blob's position in
        the file. A call that finds nothing new then needs no sync."""
        self._unreadable_tries = 0
        """Number of consecutive calls that failed because the disk did not return a block."""

    def blobs_after(self, sequence: int, bytes_max: int) -> list[bytes]:
        """Return durable blobs that contain the events after the event number `sequence`.

        The first blob may also contain earlier events. The total size of the blobs is limited to
        about `bytes_max`. The list is empty while there is no journal, or while the journal cannot
        be read.
        """
        try:
            blobs = self._read(sequence + 1, bytes_max)
        except OSError as error:
            if is_unreadable(error):
                self._unreadable_tries += 1
            if self._readable:
                logger.warning("the journal cannot be read just now: %s", line_of(error))
            self._readable = False
            return []
        self._readable = True
        if blobs and sequence_of(blobs[-1]) > sequence:
            self._unreadable_tries = 0
        return blobs

    def _read(self, sequence: int, bytes_max: int) -> list[bytes]:
        files, unplaced = placed_files(self._folder)
        if self._unreadable_tries < UNREADABLE_TRIES_MAX:
            for path in (*unplaced, *(file.path for file in files if not file.header_is_readable)):
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        intact = [file for file in files if file.salt is not None]
        # The file that holds `sequence` begins at or before it.
        first = sum(file.first_sequence <= sequence for file in intact) - 1
        blobs: list[bytes] = []
        size_bytes = 0
        for index in range(max(first, 0), len(intact)):
            is_newest = index == len(intact) - 1
            for blob in self._read_file(intact[index], sequence, bytes_max - size_bytes, is_newest):
                blobs.append(blob)
                size_bytes += len(blob)
            if size_bytes >= bytes_max:
                break
        if len(intact) == len(files):
            return blobs
        last = last_start(blobs) if size_bytes >= bytes_max else None
        return _page(blobs, self._of_damaged(files, sequence, last), sequence, bytes_max)

    @staticmethod
    def _of_damaged(files: list[JournalFile], sequence: int, last: int | None) -> list[FoundBatch]:
        """Return the durable batches of files with damaged headers, in order.

        They contain events from the event number `sequence` on, and begin before the event number
        `last`, if given.
        """
        found = [
            batch
            for file in damaged_of(files)
            if (contents := file.read()) is not None
            for batch in batches_in(file, contents)
            if batch.last_sequence >= sequence and (last is None or batch.first_sequence < last)
        ]
        for path in {batch.file.path for batch in found}:
            fsync_file(path)
        return in_order(found)

    def _bytes_of(self, descriptor: int, count: int, at: int) -> bytes:
        """Read `count` bytes at offset `at`.

        If a block is unreadable, raise OSError. After `UNREADABLE_TRIES_MAX` failed calls, return
        zeros for unreadable blocks instead.
        """
        if self._unreadable_tries < UNREADABLE_TRIES_MAX:
            return read_at(descriptor, count, at)
        return read_blocks(descriptor, count, at).data

    def _read_file(
        self, file: JournalFile, sequence: int, bytes_max: int, is_newest: bool
    ) -> list[bytes]:
        """Return a file's durable blobs, starting with the one that contains event `sequence`.

        Sync the file if needed. Return an empty list if the file was deleted or reused meanwhile.
        """
        try:
            descriptor = os.open(file.path, os.O_RDONLY)
        except FileNotFoundError:
            return []  # deleted meanwhile: exported, or reported as missing
        try:
            start = HEADER_BYTES
            if file.salt == self._salt and self._sequence <= sequence:
                start = self._at
            found = self._found(descriptor, start, file, sequence, bytes_max, is_newest=is_newest)
            newest = (file.salt, found[-1][0]) if found else None
            if newest is not None and newest != self._synced:
                # The broker may not have synced its latest write yet.
                os.fdatasync(descriptor)
            head = salt_in(self._bytes_of(descriptor, HEADER_BYTES, 0))
        finally:
            os.close(descriptor)
        if (None if head is None else head[0]) != file.salt:
            return []  # the file was reused meanwhile
        if newest is not None:
            self._synced = newest
            self._salt, self._at = newest
            self._sequence = sequence_of(found[-1][1])
        for _, blob in found:
            refuse_other_blob(file.path, blob)
        return [blob for _, blob in found]

    def _found(
        self,
        descriptor: int,
        start: int,
        file: JournalFile,
        sequence: int,
        bytes_max: int,
        *,
        is_newest: bool,
    ) -> list[tuple[int, bytes]]:
        """Return blobs of a file from the offset `start` on, each with its position in the file.

        The first blob is the one that contains the event `sequence`.
        """
        length = file.size_bytes - start
        if is_newest:
            length = min(length, bytes_max + READ_AHEAD_BYTES)
        data = self._bytes_of(descriptor, length, start)
        is_damaged = next(frames(data, 0, file.salt, after_damage=False), None) is None
        if is_damaged:
            data = self._bytes_of(descriptor, file.size_bytes - start, start)
        found: list[tuple[int, bytes]] = []
        size_bytes = 0
        # After the newest blob there are only remains of an earlier use, which are not searched at
        # each call.
        for at, blob in frames(data, 0, file.salt, after_damage=is_damaged or not is_newest):
            if found and sequence_of(blob) <= sequence:
                # The previous blob ends before `sequence`.
                found.clear()
                size_bytes = 0
            found.append((start + at, blob))
            size_bytes += len(blob)
            if size_bytes >= bytes_max and sequence_of(blob) >= sequence:
                break
        if is_newest and found and not has_valid_crc(found[-1][1]):
            # This blob is being written, or was being written when the power failed.
            found.pop()
        return found


def _page(
    blobs: list[bytes], batches: list[FoundBatch], sequence: int, bytes_max: int
) -> list[bytes]:
    """Return the blobs of intact files and of damaged ones in order, up to about `bytes_max`.

    At least one blob begins at or after the event number `sequence`, if there is one.
    """
    page: list[bytes] = []
    size_bytes = 0
    for blob in merged(blobs, batches):
        page.append(blob)
        size_bytes += len(blob)
        if size_bytes >= bytes_max and sequence_of(blob) >= sequence:
            break
    return page
