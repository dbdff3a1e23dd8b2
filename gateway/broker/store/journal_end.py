"""Records where the journal ends, to detect at startup whether its end is missing.

Without this record, a journal whose newest file was truncated, emptied or removed would look like a
shorter, complete journal. The broker writes the record after each commit, once the packets are
released, without an fsync. If commits follow one another without a pause, it writes the record
every `NOTE_SECONDS`. So if the process is killed, the record is at most that old. After a power
cut, the record can be older. The recorded end can therefore be before the durable end, but never
after it. So a batch that was being written is never reported as missing. The record is synced when
a new journal file begins, with each checkpoint, and when the store closes::

    magic "OGR2" | store 8 | next sequence u64 | next message u64
        | number of the newest file u64 | end of that file u64 | CRC 4

`u64` is a little-endian integer. Other numbers are sizes in bytes. The record is overwritten in
place. It fits into one sector, and after a power cut a sector has either the old or the new
contents.
"""

import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from gateway.broker.core.records import layout
from gateway.process.files.disk_errors import is_full, is_unreadable
from gateway.process.files.durable import pwrite_all, replace_durably
from gateway.process.files.private import open_private

RECORD_NAME = "broker.reached"
PARTIAL_NAME = "broker.reached.partial"

MAGIC = b"OGR2"
NOTE_SECONDS = 0.05
"""Longest time for which commits that follow one another without a pause leave the record as it is.
Writing it after each commit cost a twentieth of the rate of QoS 2 on a fast disk."""

_RECORD = struct.Struct("<4s8sQQQQ")
RECORD_BYTES = _RECORD.size + layout.CRC.size


@dataclass(frozen=True)
class JournalEnd:
    """The recorded end of the journal. If the journal ends earlier, durable events were lost."""

    store: str
    next_sequence: int
    """Sequence number after the newest durable event."""
    next_message: int
    """Message number that follows the number of the newest message."""
    file_number: int
    """Number in the name of the newest file, or 0 if there was no file."""
    end_bytes: int
    """Offset of the end of the newest frame in the file, in bytes."""


def read_end(data_dir: Path) -> tuple[JournalEnd | None, str | None]:
    """Return the recorded end of the journal, and a log message about a damaged record.

    The end is None if there is no valid record. The message is None if no record is damaged. Raises
    OSError for errors other than an unreadable block.
    """
    path = data_dir / RECORD_NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None, None
    except OSError as error:
        if not is_unreadable(error):
            raise
        data = b""
    if len(data) == RECORD_BYTES and data.startswith(MAGIC):
        (crc,) = layout.CRC.unpack_from(data, _RECORD.size)
        if crc == crc32(data[: _RECORD.size]):
            _, store, *numbers = _RECORD.unpack_from(data)
            return JournalEnd(store.hex(), *numbers), None
    return None, (
        f"{RECORD_NAME} is damaged: whether the end of the journal is missing is known only as far "
        "as the tables reach"
    )


class EndRecord:
    """Writer of the end record, which states where the journal ends.

    `note` and `fsync` can run in different threads.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._store = b""
        self._file_number = 0
        self._descriptor = -1
        self._noted_at = 0.0

    def begin(self, end: JournalEnd) -> None:
        """Open the record's file and write `end` durably.

        If the disk is full, the broker runs without this record. Raises OSError for other errors.
        """
        self._store = bytes.fromhex(end.store)
        self._file_number = end.file_number
        path = self._data_dir / RECORD_NAME
        data = self._packed(end.next_sequence, end.next_message, end.file_number, end.end_bytes)
        try:
            if not path.exists() or path.stat().st_size != RECORD_BYTES:
                replace_durably(path, data, partial=self._data_dir / PARTIAL_NAME)
            self._descriptor = open_private(path, os.O_WRONLY)
            pwrite_all(self._descriptor, data, 0)
            os.fsync(self._descriptor)
        except OSError as error:
            if not is_full(error):
                raise
            self.close()

    def is_overdue(self, file_number: int) -> bool:
        """Return True if the record must be written before the next commit begins.

        It must be if the newest file is another one, whose number is `file_number`, because the
        record is then synced, which must not delay the event loop. It must also be if it has not
        been written for `NOTE_SECONDS`.
        """
        if file_number != self._file_number:
            return True
        return time.monotonic() - self._noted_at >= NOTE_SECONDS

    def note(self, next_sequence: int, next_message: int, file_number: int, end_bytes: int) -> None:
        """Record the position up to which the journal is durable. Raises OSError on failure.

        Do nothing if the broker runs without a record. On a full disk, the previous record is kept.
        It is still correct, because all events before the position that it states are durable.
        """
        if self._descriptor < 0:
            return
        self._noted_at = time.monotonic()
        data = self._packed(next_sequence, next_message, file_number, end_bytes)
        try:
            pwrite_all(self._descriptor, data, 0)
        except OSError as error:
            if not is_full(error):  # the older record promises fewer events
                raise
        if file_number != self._file_number:
            self._file_number = file_number
            os.fdatasync(self._descriptor)

    def fsync(self) -> None:
        """Sync the record to disk. Raises OSError on failure."""
        if self._descriptor >= 0:
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close the record's file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _packed(self, *numbers: int) -> bytes:
        data = _RECORD.pack(MAGIC, self._store, *numbers)
        return data + layout.CRC.pack(crc32(data))
