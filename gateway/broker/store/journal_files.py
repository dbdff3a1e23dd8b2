"""Reading of the journal's files: at startup, by the uploader, and by an audit.

A file consists of a header and one frame per batch (docs/formats/journal.md). A frame is valid only
with the file's salt, which is random and changes whenever a file is started. So remains of an
earlier use of the file, and client data that looks like a frame, are recognised.
"""

import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import has_valid_crc
from gateway.broker.store.formats import newer, refuse_newer_blob
from gateway.broker.store.medium import Contents, read_blocks, read_whole

FOLDER_NAME = "journal"
NUMBER_DIGITS = 10
FILE_PATTERN = "[0-9]" * NUMBER_DIGITS + ".ogj"

HEADER_MAGIC = b"OGF1"
HEADER_MAGIC_PREFIX = b"OGF"
"""First bytes of the headers of every version; a CRC of the first 20 bytes follows the header."""
SALT_BYTES = 8
_HEADER = struct.Struct("<4s8sQ")
"""Magic, salt, the first sequence number in the file; a CRC-32 follows."""

HEADER_BYTES = _HEADER.size + layout.CRC.size

FRAME = struct.Struct("<II")
"""Length of the blob in bytes, and its checksum."""

STORE = slice(4, 12)
"""Position of the store's id in a blob of any version."""

BLOB_BYTES_MIN = layout.BLOB_HEADER_1.size + layout.CRC.size


@dataclass
class JournalFile:
    """One file of the journal."""

    path: Path
    first_sequence: int
    """First sequence number of its first batch."""
    salt: bytes | None
    """None: the header is damaged, so each blob is checked by its own CRC."""
    size_bytes: int
    header_is_readable: bool = True
    """False: the medium does not return the header, which need not be damaged."""

    def read(self, attempts: int = 1) -> Contents | None:
        """Return the contents; None if the file was dropped since it was found."""
        try:
            contents = read_whole(self.path, attempts)
            head, is_readable = _head_of(self.path, attempts)
        except FileNotFoundError:
            return None
        # A header that cannot be read now proves nothing: the file is assumed to be unchanged.
        is_other = is_readable and (None if head is None else head[0]) != self.salt
        return None if is_other else contents

    def blobs(self, *, is_newest: bool) -> list[bytes] | None:
        """Return the blobs; None if the file was dropped since it was found.

        An incomplete newest blob of the whole journal is left out, since it may still be being
        written.
        """
        contents = self.read()
        if contents is None:
            return None
        blobs = [blob for _, blob in frames(contents.data, HEADER_BYTES, self.salt)]
        if is_newest and blobs and not has_valid_crc(blobs[-1]):
            blobs.pop()
        for blob in blobs:
            refuse_newer_blob(self.path, blob)
        return blobs


def _head_of(path: Path, attempts: int) -> tuple[tuple[bytes, int] | None, bool]:
    """Return salt and first sequence number (None: damaged), and whether all of it was readable.

    Raises OtherFormat for a file of a later version.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        head = read_blocks(descriptor, HEADER_BYTES, 0, attempts)
    finally:
        os.close(descriptor)
    magic = head.data[: len(HEADER_MAGIC)]
    if magic != HEADER_MAGIC and magic.startswith(HEADER_MAGIC_PREFIX) and _is_sound(head.data):
        raise newer(path, magic.decode("ascii", "replace"), HEADER_MAGIC.decode())
    return salt_in(head.data), not head.unreadable


def _is_sound(head: bytes) -> bool:
    """Return True if a header of any version is complete."""
    return len(head) >= HEADER_BYTES and (
        crc32(head[: _HEADER.size]) == layout.CRC.unpack_from(head, _HEADER.size)[0]
    )


def header_of(salt: bytes, first_sequence: int) -> bytes:
    """Return the header of a file."""
    header = _HEADER.pack(HEADER_MAGIC, salt, first_sequence)
    return header + layout.CRC.pack(crc32(header))


def frame_of(salt: bytes, blob: bytes) -> bytes:
    """Return the frame of a blob."""
    return FRAME.pack(len(blob), _check(salt, len(blob), blob[-layout.CRC.size :])) + blob


def _check(salt: bytes, length: int, blob_crc: bytes) -> int:
    return crc32(salt + layout.CRC.pack(length) + blob_crc)


def salt_in(head: bytes) -> tuple[bytes, int] | None:
    """Return salt and first sequence number from a file's header; None if it is damaged."""
    if not head.startswith(HEADER_MAGIC) or not _is_sound(head):
        return None
    _, salt, first_sequence = _HEADER.unpack_from(head)
    return bytes(salt), int(first_sequence)


def sequence_of(blob: bytes) -> int:
    """Return the first sequence number of a blob, which must be long enough to have one."""
    return int(layout.BLOB_HEADER_1.unpack_from(blob)[6])


def count_of(blob: bytes) -> int:
    """Return the number of events in a blob."""
    return int(layout.BLOB_HEADER_1.unpack_from(blob)[7])


def boot_of(blob: bytes) -> str:
    """Return the boot (start of the broker) that wrote a blob."""
    return bytes(layout.BLOB_HEADER_1.unpack_from(blob)[2]).hex()


def journal_files(folder: Path, attempts: int = 1) -> list[JournalFile]:
    """Return the files of a journal in the order of their events.

    The order is taken from the headers. A name may be that of an earlier use of the file, since
    renaming becomes durable after the contents.

    Args:
        folder: folder of the files.
        attempts: how often unreadable data is tried.
    """
    return placed_files(folder, attempts)[0]


def placed_files(folder: Path, attempts: int = 1) -> tuple[list[JournalFile], list[Path]]:
    """Return the files in order, and those of which too little is readable to order them."""
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
            continue  # just dropped or reused
        first = next(frames(contents.data, HEADER_BYTES, None), None)
        if first is not None:
            first_sequence = sequence_of(first[1])
            files.append(JournalFile(path, first_sequence, None, size_bytes, is_readable))
        elif contents.unreadable:
            unplaced.append(path)
    files.sort(key=lambda file: file.first_sequence)
    return files, unplaced


def store_of(file: JournalFile) -> str | None:
    """Return the store named by a file's first valid batch; None if there is none."""
    contents = file.read()
    for _, blob in frames(b"" if contents is None else contents.data, HEADER_BYTES, file.salt):
        if has_valid_crc(blob):
            return blob[STORE].hex()
    return None


def may_be_of(file: JournalFile, stores: Collection[str]) -> bool:
    """Return True if the first batch of a file names one of `stores`. Nothing is verified."""
    at = HEADER_BYTES + FRAME.size
    descriptor = os.open(file.path, os.O_RDONLY)
    try:
        head = read_blocks(descriptor, STORE.stop, at).data
    finally:
        os.close(descriptor)
    return head[STORE].hex() in stores


def frames(
    data: bytes, at: int, salt: bytes | None, *, behind_damage: bool = True
) -> Iterator[tuple[int, bytes]]:
    """Yield position and blob of each frame, starting at `at`.

    Args:
        data: the file, or a part of it.
        at: position of the first frame.
        salt: the file's salt; None if its header is damaged.
        behind_damage: continue the search after damaged bytes.
    """
    while True:
        blob = _frame_at(data, at, salt)
        if blob is not None:
            yield at, blob
            at += FRAME.size + len(blob)
            continue
        found = data.find(layout.BLOB_MAGIC_PREFIX, at + FRAME.size + 1) if behind_damage else -1
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
