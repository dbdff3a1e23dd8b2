"""Record of the journal's end, which shows at startup whether the end is missing.

A journal whose newest file was truncated, emptied or removed looks like a shorter one. The record
is written after each commit, when its packets have been released, without an fsync of its own. A
killed process leaves it exact or one commit older. A power cut may leave an older one, which claims
less. So a batch that was being written is never considered damaged. The record is synced with each
new file, with each checkpoint and at the end::

    magic "OGR2" | store 8 | next sequence u64 | next message u64
        | number of the newest file u64 | its end u64 | CRC 4

It is written in place. It fits into one sector, of which a power cut leaves the old or the new
contents.
"""

import os
import struct
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
_MAGIC_1 = b"OGR1"
_RECORD = struct.Struct("<4s8sQQQQ")
RECORD_BYTES = _RECORD.size + layout.CRC.size


@dataclass(frozen=True)
class JournalEnd:
    """Recorded end of the journal: a journal that ends earlier has lost durable events."""

    store: str
    next_sequence: int
    """The number after the newest durable event."""
    next_message: int
    """The number after that of the newest message."""
    file_number: int
    """The number in the name of the newest file; 0: there was none."""
    end_bytes: int
    """End of the newest frame in the file."""


def read_end(data_dir: Path) -> tuple[JournalEnd | None, str | None]:
    """Return the record, and a sentence if it is damaged. A record of format 1 is ignored.

    Raises OSError.
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
    if data.startswith(_MAGIC_1):
        return None, None
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
    """Writes the record. `note` and `fsync` may run in different threads."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._store = b""
        self._file_number = 0
        self._descriptor = -1

    def begin(self, end: JournalEnd) -> None:
        """Write the record durably. On a full disk there is none.

        Raises OSError.
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

    def note(self, next_sequence: int, next_message: int, file_number: int, end_bytes: int) -> None:
        """Record that the journal is durable up to a position. Raises OSError."""
        if self._descriptor < 0:
            return
        data = self._packed(next_sequence, next_message, file_number, end_bytes)
        try:
            pwrite_all(self._descriptor, data, 0)
        except OSError as error:
            if not is_full(error):  # an older record claims less
                raise
        if file_number != self._file_number:
            self._file_number = file_number
            os.fdatasync(self._descriptor)

    def fsync(self) -> None:
        """Sync the record. Raises OSError."""
        if self._descriptor >= 0:
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _packed(self, *numbers: int) -> bytes:
        data = _RECORD.pack(MAGIC, self._store, *numbers)
        return data + layout.CRC.pack(crc32(data))
