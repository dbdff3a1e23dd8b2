"""Reads the journal's files. The broker (at startup), the uploader and the audit use this module.

A file consists of a header and one frame per batch (docs/formats/journal.md). The header contains a
random salt, which changes each time the file is reused. A frame is valid only with this salt. So
frames from an earlier use of the file, and client data that looks like a frame, are not accepted.
"""

import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import has_valid_crc
from gateway.broker.store.formats import other_magic, refuse_other_blob
from gateway.broker.store.medium import Contents, read_blocks, read_whole

FOLDER_NAME = "journal"
NUMBER_DIGITS = 10
FILE_PATTERN = "[0-9]" * NUMBER_DIGITS + ".ogj"

HEADER_MAGIC = b"OGF1"
HEADER_MAGIC_PREFIX = b"OGF"
"""First bytes of a header of any version. In every version, a CRC of the header's first 20 bytes
follows these bytes."""
SALT_BYTES = 8
_HEADER = struct.Struct("<4s8sQ")
"""Magic bytes, salt, and first sequence number in the file. A CRC-32 follows."""

HEADER_BYTES = _HEADER.size + layout.CRC.size

FRAME = struct.Struct("<II")
"""Length of the blob in bytes, and its checksum."""

STORE = slice(4, 12)
"""Position of the store's id in a blob of any version."""

BLOB_BYTES_MIN = layout.BLOB_HEADER.size + layout.CRC.size


@dataclass
class JournalFile:
    """A file of the journal, with the values from its header."""

    path: Path
    first_sequence: int
    """First sequence number of the file's first batch, or of its newest batch if the header is
    damaged."""
    salt: bytes | None
    """The file's salt, or None if the header is damaged. Blobs are then checked only by their own
    CRC."""
    size_bytes: int
    header_is_readable: bool = True
    """False if the disk did not return the header, which may still be intact."""

    def read(self, attempts: int = 1) -> Contents | None:
        """Return the file's contents, or None if it was deleted or reused since it was listed."""
        try:
            contents = read_whole(self.path, attempts)
            head, is_readable = _head_of(self.path, attempts)
        except FileNotFoundError:
            return None
        # If the header cannot be read now, the file is assumed to be unchanged.
        is_other = is_readable and (None if head is None else head[0]) != self.salt
        return None if is_other else contents

    def blobs(self, *, is_newest: bool) -> list[bytes] | None:
        """Return the file's blobs, or None if the file was deleted or reused since it was listed.

        If this is the journal's newest file (`is_newest`), an incomplete last blob is left out,
        because the broker might still be writing it.
        """
        contents = self.read()
        if contents is None:
            return None
        blobs = [blob for _, blob in frames(contents.data, HEADER_BYTES, self.salt)]
        if is_newest and blobs and not has_valid_crc(blobs[-1]):
            blobs.pop()
        for blob in blobs:
            refuse_other_blob(self.path, blob)
        return blobs


def _head_of(path: Path, attempts: int) -> tuple[tuple[bytes, int] | None, bool]:
    """Read the header of a file.

    Return two values. The first contains the file's salt and first sequence number, or is None if
    the header is damaged. The second is True if the whole header could be read from the disk.
    Raises OtherFormat if another version wrote the file.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        head = read_blocks(descriptor, HEADER_BYTES, 0, attempts)
    finally:
        os.close(descriptor)
    magic = head.data[: len(HEADER_MAGIC)]
    if magic != HEADER_MAGIC and magic.startswith(HEADER_MAGIC_PREFIX) and _is_sound(head.data):
        raise other_magic(path, magic, HEADER_MAGIC)
    return salt_in(head.data), not head.unreadable


def _is_sound(head: bytes) -> bool:
    """Return True if a header is complete and has a valid CRC, in any version of the format."""
    return len(head) >= HEADER_BYTES and (
        crc32(head[: _HEADER.size]) == layout.CRC.unpack_from(head, _HEADER.size)[0]
    )


def header_of(salt: bytes, first_sequence: int) -> bytes:
    """Return the header of a file whose first event has the sequence number `first_sequence`."""
    header = _HEADER.pack(HEADER_MAGIC, salt, first_sequence)
    return header + layout.CRC.pack(crc32(header))


def frame_of(salt: bytes, blob: bytes) -> bytes:
    """Return the frame that stores a blob in a file with this salt."""
    return FRAME.pack(len(blob), _check(salt, len(blob), blob[-layout.CRC.size :])) + blob


def _check(salt: bytes, length: int, blob_crc: bytes) -> int:
    return crc32(salt + layout.CRC.pack(length) + blob_crc)


def salt_in(head: bytes) -> tuple[bytes, int] | None:
    """Return the salt and first sequence number in a header, or None if the header is damaged."""
    if not head.startswith(HEADER_MAGIC) or not _is_sound(head):
        return None
    _, salt, first_sequence = _HEADER.unpack_from(head)
    return bytes(salt), int(first_sequence)


def sequence_of(blob: bytes) -> int:
    """Return the sequence number of a blob's first event.

    The blob must have a complete header. Its checksum is not verified here.
    """
    return int(layout.BLOB_HEADER.unpack_from(blob)[6])


def count_of(blob: bytes) -> int:
    """Return the number of events in a blob, according to its header."""
    return int(layout.BLOB_HEADER.unpack_from(blob)[7])


def boot_of(blob: bytes) -> str:
    """Return the identifier of the broker run that wrote a blob, as hexadecimal digits."""
    return bytes(layout.BLOB_HEADER.unpack_from(blob)[2]).hex()


def journal_files(folder: Path, attempts: int = 1) -> list[JournalFile]:
    """Return the files of a journal in the order of their events.

    The order is taken from the headers, not from the names. A reused file can still have its old
    name, because renaming becomes durable later than the contents.

    Args:
        folder: folder of the files.
        attempts: maximum number of attempts to read a block of the disk.
    """
    return placed_files(folder, attempts)[0]


def placed_files(folder: Path, attempts: int = 1) -> tuple[list[JournalFile], list[Path]]:
    """Return the journal's files in order, and the paths of files whose position is unknown.

    The position of a file in the order is unknown if neither its header nor a blob can be read.
    """
    files: list[JournalFile] = []
    unplaced: list[Path] = []
    for path in sorted(folder.glob(FILE_PATTERN)):
        try:
            head, is_readable = _head_of(path, attempts)
            size_bytes = path.stat().st_size
            if head is not None:
                files.append(JournalFile(path, head[1], head[0], size_bytes))
                continue
            # Rare: the whole file is read to find out where it belongs.
            contents = read_whole(path, attempts)
        except FileNotFoundError:
            continue  # the file was deleted or reused meanwhile
        found = [sequence_of(blob) for _, blob in frames(contents.data, HEADER_BYTES, None)]
        if found:
            # Blobs from an earlier use of the file are older, wherever they are in it. See
            # damaged_files.py for the order of its batches.
            files.append(JournalFile(path, max(found), None, size_bytes, is_readable))
        elif contents.unreadable:
            unplaced.append(path)
    files.sort(key=lambda file: file.first_sequence)
    return files, unplaced


def store_of(file: JournalFile) -> str | None:
    """Return the id of the store that wrote a file, or None if the file has no valid blob.

    The id is taken from the file's first valid blob.
    """
    contents = file.read()
    for _, blob in frames(b"" if contents is None else contents.data, HEADER_BYTES, file.salt):
        if has_valid_crc(blob):
            return blob[STORE].hex()
    return None


def belongs_to(file: JournalFile, stores: Collection[str]) -> bool:
    """Return True if one of the given stores wrote the first batch of a file.

    `stores` contains the ids of the stores. The checksum of the batch is not verified.
    """
    at = HEADER_BYTES + FRAME.size
    descriptor = os.open(file.path, os.O_RDONLY)
    try:
        head = read_blocks(descriptor, STORE.stop, at).data
    finally:
        os.close(descriptor)
    return head[STORE].hex() in stores


def frames(
    data: bytes, at: int, salt: bytes | None, *, after_damage: bool = True
) -> Iterator[tuple[int, bytes]]:
    """Yield the position and the blob of each valid frame in `data`, starting at position `at`.

    Args:
        data: contents of the file, or of a part of it.
        at: position of the first frame in `data`.
        salt: the file's salt, or None if its header is damaged.
        after_damage: True to search for further frames after damaged bytes.
    """
    while True:
        blob = _frame_at(data, at, salt)
        if blob is not None:
            yield at, blob
            at += FRAME.size + len(blob)
            continue
        found = data.find(layout.BLOB_MAGIC_PREFIX, at + FRAME.size + 1) if after_damage else -1
        while found >= 0 and _frame_at(data, found - FRAME.size, salt) is None:
            found = data.find(layout.BLOB_MAGIC_PREFIX, found + 1)
        if found < 0:
            return
        at = found - FRAME.size


def _frame_at(data: bytes, at: int, salt: bytes | None) -> bytes | None:
    start = at + FRAME.size
    if start > len(data):
        return None
    length, check = FRAME.unpack_from(data, at)
    if not BLOB_BYTES_MIN <= length <= len(data) - start:
        return None
    end = start + int(length)
    if salt is not None and check != _check(salt, length, data[end - layout.CRC.size : end]):
        return None
    blob = data[start:end]
    return blob if salt is not None or has_valid_crc(blob) else None
