"""Files for records that no client waits for. They survive if the process is killed.

The broker writes new records to these files at each tick, without an fsync. Within
`lazy_commit_delay`, the whole batch is committed to the journal with one fsync. The records of an
incomplete batch cannot be written to the journal, because it allows only one unfinished frame. Two
files alternate so that the next batch can be collected while the current one is being committed.
The files are never synced, and each batch overwrites the batch before the previous one::

    magic "OGU1" | salt 8 | boot before 8 | CRC 4 | frames as in the journal, one for each part

Numbers are sizes in bytes. `boot before` is the id of the last run that wrote to the journal before
this run. At startup, the parts that continue the journal's end are committed to the journal before
anything else, up to the first missing part. After a power cut, the files contain only those parts
of the last second that the file system has written to disk.
"""

import os
import secrets
import struct
from pathlib import Path
from zlib import crc32

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import Blob, DamagedBlob, joined
from gateway.broker.store.journal_files import SALT_BYTES, frame_of, frames
from gateway.process.files.disk_errors import is_full, is_unreadable
from gateway.process.files.durable import pwrite_all
from gateway.process.files.private import open_private

FILE_NAMES = ("unsynced-0", "unsynced-1")
"""Names in the journal's folder, for batches with an even and with an odd number."""

MAGIC = b"OGU1"
_HEADER = struct.Struct("<4s8s8s")
HEADER_BYTES = _HEADER.size + layout.CRC.size
BOOT_BYTES = 8

KEPT_BYTES = 256 * 1024
"""Length in bytes to which a file is truncated when the next batch begins after a large one."""


class _File:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = -1
        self.batch = -1
        self.at = HEADER_BYTES
        self.has_gap = False
        """True if a part of the batch is missing. Later parts are not written, since they would be
        ignored at startup."""


class Unsynced:
    """Writer of the two files for unsynced records. Use it in one thread only."""

    def __init__(self, folder: Path, boot_before: str) -> None:
        self._salt = secrets.token_bytes(SALT_BYTES)
        self._boot_before = bytes.fromhex(boot_before) or bytes(BOOT_BYTES)
        self._files = [_File(folder / name) for name in FILE_NAMES]
        for file in self._files:
            # The records of the previous run are in the journal by now.
            file.path.unlink(missing_ok=True)

    def write(self, batch: int, part: bytes) -> None:
        """Write a part of the batch with number `batch`. The parts must be written in order.

        On a full disk, neither this part nor later parts of the batch are written. If the process
        is then killed, these records are lost, but no client was waiting for them. Raises OSError
        for other errors.
        """
        file = self._files[batch % 2]
        if file.batch != batch:
            self._begin(file, batch)
        if file.has_gap:
            return
        frame = frame_of(self._salt, part)
        try:
            pwrite_all(file.descriptor, frame, file.at)
        except OSError as error:
            if not is_full(error):
                raise
            file.has_gap = True
        file.at += len(frame)

    def _begin(self, file: _File, batch: int) -> None:
        file.has_gap = False
        if file.descriptor < 0:
            header = _HEADER.pack(MAGIC, self._salt, self._boot_before)
            try:
                file.descriptor = open_private(file.path, os.O_RDWR | os.O_CREAT)
                pwrite_all(file.descriptor, header + layout.CRC.pack(crc32(header)), 0)
            except OSError as error:
                if not is_full(error):
                    raise
                file.has_gap = True
                if file.descriptor >= 0:  # a start ignores a file without a header
                    os.close(file.descriptor)
                    file.descriptor = -1
        elif file.at > KEPT_BYTES:
            os.ftruncate(file.descriptor, KEPT_BYTES)
        file.batch = batch
        file.at = HEADER_BYTES

    def close(self) -> None:
        """Close both files for unsynced records."""
        for file in self._files:
            if file.descriptor >= 0:
                os.close(file.descriptor)
                file.descriptor = -1


def unsynced_batches(folder: Path, next_sequence: int, boot: str) -> list[bytes]:
    """Return the batches that were written but not committed, as one blob per batch.

    Args:
        folder: folder of the journal.
        next_sequence: the sequence number after the journal's newest blob.
        boot: id of the broker run that wrote the newest blob, or "" if there is no blob.
    """
    found = [parts for name in FILE_NAMES if (parts := _parts_in(folder / name, boot))]
    blobs: list[bytes] = []
    for parts in sorted(found, key=lambda parts: parts[0].first_sequence):
        if parts[0].first_sequence == next_sequence:
            blobs.append(joined(parts))
            next_sequence = parts[-1].first_sequence + parts[-1].record_count
    return blobs


def _parts_in(path: Path, boot: str) -> list[Blob]:
    """Return the parts of the latest batch in a file, up to the first missing part.

    `boot` is the id of the broker run that wrote the newest blob of the journal. If the file is
    older than that run, the list is empty.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        if not is_unreadable(error):
            raise
        return []  # it was never synced, so nothing durable is lost
    if len(data) < HEADER_BYTES or crc32(data[: _HEADER.size]) != _crc_at(data, _HEADER.size):
        return []
    magic, salt, boot_before = _HEADER.unpack_from(data)
    if magic != MAGIC:
        return []
    parts: list[Blob] = []
    for _, content in frames(data, HEADER_BYTES, salt, after_damage=False):
        try:
            part = Blob(content)
        except DamagedBlob:
            break
        if parts and not _follows(part, parts[-1]):
            break  # from an earlier batch, which was longer
        parts.append(part)
    # The file is from the run with the newest blob, or from a later run without a commit.
    is_latest = bool(parts) and boot in (
        parts[0].boot,
        boot_before.hex() if any(boot_before) else "",
    )
    return parts if is_latest else []


def _crc_at(data: bytes, at: int) -> int:
    crc: int = layout.CRC.unpack_from(data, at)[0]
    return crc


def _follows(part: Blob, before: Blob) -> bool:
    return (
        part.number == before.number
        and part.first_sequence == before.first_sequence + before.record_count
    )
