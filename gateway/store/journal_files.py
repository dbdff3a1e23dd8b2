"""The journal's files as they are read: by a start, by the uploader, by an audit.

A file is a header and frames, one for each batch; docs/formats/journal.md has the bytes. Whoever
wrote a frame knew the salt of the file, which is drawn anew whenever a file is begun: what an
earlier use of the file left behind it, and what a client made look like a frame, are told apart.
"""

import errno
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zlib import crc32

from gateway.core import facts
from gateway.core.journal import Blob, DamagedBlob

FOLDER_NAME = "journal"
NUMBER_DIGITS = 10
FILE_PATTERN = "[0-9]" * NUMBER_DIGITS + ".ogj"

HEADER_MAGIC = b"OGF1"
SALT_BYTES = 8
_HEADER = struct.Struct("<4s8sQ")
"""Magic, salt, the first sequence number in the file; a CRC-32 follows."""

HEADER_BYTES = _HEADER.size + facts.CRC.size

FRAME = struct.Struct("<II")
"""Bytes of the blob, and the check."""

BLOCK_BYTES = 4_096
"""What a medium loses at a time."""

BLOB_BYTES_MIN = facts.BLOB_HEADER.size + facts.CRC.size


@dataclass
class JournalFile:
    """One file of the journal."""

    path: Path
    first_sequence: int
    """Of the first batch in it."""
    salt: bytes | None
    """None: the header is damaged, and each blob has to prove itself by its own CRC."""
    size_bytes: int

    def read(self) -> bytes | None:
        """Return the contents, None if the file was dropped since it was found."""
        try:
            contents = _read_all(self.path)
            with self.path.open("rb") as file:
                head = salt_in(_head_of(file))
        except FileNotFoundError:
            return None
        return contents if (None if head is None else head[0]) == self.salt else None

    def blobs(self, *, is_newest: bool) -> list[bytes] | None:
        """Return the blobs, None if the file was dropped since it was found.

        The newest blob of all is left out if it is not whole: it is, or was, being written.
        """
        contents = self.read()
        if contents is None:
            return None
        blobs = [blob for _, blob in frames(contents, HEADER_BYTES, self.salt)]
        if is_newest and blobs and not is_whole(blobs[-1]):
            blobs.pop()
        return blobs


def _head_of(file: IO[bytes]) -> bytes:
    try:
        return file.read(HEADER_BYTES)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""


def _read_all(path: Path) -> bytes:
    """Return the contents of a file, zeros where the medium cannot be read any more."""
    with path.open("rb", buffering=0) as file:
        try:
            return file.readall()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
        contents = bytearray(os.fstat(file.fileno()).st_size)
        for at in range(0, len(contents), BLOCK_BYTES):
            with suppress(OSError):
                block = os.pread(file.fileno(), BLOCK_BYTES, at)
                contents[at : at + len(block)] = block
        return bytes(contents)


def header_of(salt: bytes, first_sequence: int) -> bytes:
    """Return the first bytes of a file."""
    header = _HEADER.pack(HEADER_MAGIC, salt, first_sequence)
    return header + facts.CRC.pack(crc32(header))


def frame_of(salt: bytes, blob: bytes) -> bytes:
    """Return a blob as it stands in a file."""
    return FRAME.pack(len(blob), _check(salt, len(blob), blob[-facts.CRC.size :])) + blob


def _check(salt: bytes, length: int, blob_crc: bytes) -> int:
    return crc32(salt + facts.CRC.pack(length) + blob_crc)


def salt_in(head: bytes) -> tuple[bytes, int] | None:
    """Return salt and first sequence of a file by its first bytes, None where they are damaged."""
    if len(head) < HEADER_BYTES or not head.startswith(HEADER_MAGIC):
        return None
    if crc32(head[: _HEADER.size]) != facts.CRC.unpack_from(head, _HEADER.size)[0]:
        return None
    _, salt, first_sequence = _HEADER.unpack_from(head)
    return bytes(salt), int(first_sequence)


def sequence_of(blob: bytes) -> int:
    """Return the first sequence number of a blob that is long enough to have one."""
    return int(facts.BLOB_HEADER.unpack_from(blob)[6])


def is_whole(blob: bytes) -> bool:
    """Return whether a blob's own CRC is right."""
    crc: int = facts.CRC.unpack(blob[-facts.CRC.size :])[0]
    return crc32(memoryview(blob)[: -facts.CRC.size]) == crc


def boot_of(blob: bytes) -> str:
    """Return the start of the broker that a blob is of."""
    return bytes(facts.BLOB_HEADER.unpack_from(blob)[2]).hex()


def journal_files(folder: Path) -> list[JournalFile]:
    """Return the files of a journal in the order of their events.

    The header tells the order. A name may be that of an earlier use of the file: renaming is made
    durable after the contents.
    """
    files: list[JournalFile] = []
    for path in sorted(folder.glob(FILE_PATTERN)):
        try:
            with path.open("rb") as file:
                head = salt_in(_head_of(file))
                size_bytes = os.fstat(file.fileno()).st_size
                if head is not None:
                    files.append(JournalFile(path, head[1], head[0], size_bytes))
                    continue
                # Rare: read whole, to find out where it belongs.
                first = next(frames(_read_all(path), HEADER_BYTES, None), None)
        except FileNotFoundError:
            continue  # dropped or begun anew in this moment
        if first is not None:
            files.append(JournalFile(path, sequence_of(first[1]), None, size_bytes))
    files.sort(key=lambda file: file.first_sequence)
    return files


def frames(
    data: bytes, at: int, salt: bytes | None, *, behind_damage: bool = True
) -> Iterator[tuple[int, bytes]]:
    """Yield position and blob of each frame from `at` on.

    Args:
        data: the file, or a part of it.
        at: where the first frame begins.
        salt: the file's, None where its header is damaged.
        behind_damage: whether to look for frames behind what is none.
    """
    while True:
        blob = _frame_at(data, at, salt)
        if blob is not None:
            yield at, blob
            at += FRAME.size + len(blob)
            continue
        found = data.find(facts.BLOB_MAGIC, at + FRAME.size + 1) if behind_damage else -1
        while found >= 0 and _frame_at(data, found - FRAME.size, salt) is None:
            found = data.find(facts.BLOB_MAGIC, found + 1)
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
    if salt is not None and check != _check(salt, length, data[end - facts.CRC.size : end]):
        return None
    blob = data[start:end]
    return blob if salt is not None or is_whole(blob) else None


class JournalReading:
    """The blobs of a journal from a checkpoint on, in order, and what was wrong with it.

    While the broker writes, what is read last may be a batch that is not durable yet.
    """

    def __init__(self, folder: Path, checkpoint: int) -> None:
        self.checkpoint = checkpoint
        self.files = journal_files(folder)
        self.damage: list[str] = []
        self.end: tuple[JournalFile, int, int] | None = None
        """The newest blob's file, where its frame begins and where it ends."""
        self.next_sequence = 1
        """Behind the newest blob."""

    def blobs(self) -> Iterator[Blob]:
        """Yield the blobs from `checkpoint` on, and those before it in the same file.

        A newest blob that is not whole was being written when the power was cut: nobody was told of
        it, and it is passed over.
        """
        first = 0
        for index, file in enumerate(self.files):
            if file.first_sequence <= self.checkpoint:
                first = index
        reason = ""
        for file in self.files[first:]:
            if file.salt is None:
                self.damage.append(f"the header of {file.path.name} in the journal is damaged")
            for at, content in frames(file.read() or b"", HEADER_BYTES, file.salt):
                try:
                    blob = Blob(content)
                except DamagedBlob as error:
                    reason = f": {error}"
                    continue
                if blob.first_sequence < self.next_sequence:
                    continue  # from an earlier use of a file whose header is damaged
                expected = max(self.next_sequence, self.checkpoint)
                if blob.first_sequence > expected:
                    self.damage.append(
                        f"journal events {expected} to {blob.first_sequence - 1} cannot be read"
                        + reason
                    )
                reason = ""
                self.next_sequence = blob.first_sequence + blob.record_count
                self.end = (file, at, at + FRAME.size + len(content))
                yield blob
        if self.next_sequence < self.checkpoint:
            self.damage.append(
                f"journal events {self.next_sequence} to {self.checkpoint - 1} cannot be read: "
                "they are in the tables"
            )
