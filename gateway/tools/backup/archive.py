"""The archive file of a backup: a tar file in GNU format, compressed with gzip.

The manifest determines the exact header of each member, and the reader rejects any other header.
Therefore an archive cannot contain a link, a folder, a device, or a name or size that is not in the
manifest.
"""

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from gateway.tools.backup.manifest import (
    MANIFEST,
    MANIFEST_BYTES_MAX,
    BackupRefused,
    Manifest,
    Member,
    manifest_of,
)

BLOCK_BYTES: Final = tarfile.BLOCKSIZE
SLICE_BYTES: Final = 1 << 20
"""Maximum number of bytes that are read or written at a time."""
COMPRESSION_LEVEL: Final = 6

_END: Final = bytes(2 * BLOCK_BYTES)
_MODE: Final = 0o600

Content = Callable[[Member], Iterator[bytes]]


def write_archive(output: BinaryIO, manifest: Manifest, content_of: Content) -> None:
    """Write the archive file of a backup.

    Args:
        output: a file that is open for writing in binary mode.
        manifest: describes each member.
        content_of: function that returns a member's bytes in slices.

    Raises:
        BackupRefused: if a file no longer has the contents that the manifest describes.
        OSError: if a file cannot be read, or the archive cannot be written.
    """
    text = manifest.text().encode()
    with gzip.GzipFile(
        filename="", mode="wb", compresslevel=COMPRESSION_LEVEL, fileobj=output, mtime=0
    ) as stream:
        _write_member(stream, MANIFEST, len(text), iter([text]))
        for member in manifest.members:
            _write_member(stream, member.name, member.size, _checked(member, content_of(member)))
        stream.write(_END)


def _write_member(stream: gzip.GzipFile, name: str, size: int, slices: Iterator[bytes]) -> None:
    stream.write(_header_of(name, size))
    for each in slices:
        stream.write(each)
    stream.write(bytes(-size % BLOCK_BYTES))


def _header_of(name: str, size: int) -> bytes:
    """Return a member's tar header, with two additional blocks if the name exceeds 100 bytes."""
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, _MODE
    return header.tobuf(tarfile.GNU_FORMAT, "utf-8", "strict")


def _checked(member: Member, slices: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the member's bytes, and compare their size and SHA-256 with the manifest.

    Raises BackupRefused if they differ: the file has changed since the manifest was made.
    """
    digest, left = hashlib.sha256(), member.size
    for each in slices:
        left -= len(each)
        if left < 0:
            break
        digest.update(each)
        yield each
    if left != 0 or digest.hexdigest() != member.sha256:
        raise BackupRefused(
            f"{member.original}: has changed while the backup was made: stop the program that "
            "writes it, and repeat"
        )


class ArchiveReader:
    """Reader of a backup file. It reads the file only once, from start to end.

    All methods raise `BackupRefused` if the file is not a backup, or is damaged or truncated, and
    `OSError` if it cannot be read.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read the manifest at the start of the backup file `file`."""
        self._stream = gzip.GzipFile(fileobj=file, mode="rb")
        header = self._read(BLOCK_BYTES)
        size = _size_in(header)
        if size is None or header != _header_of(MANIFEST, size):
            raise BackupRefused("it does not begin with a manifest: it is no backup of Oncegate")
        if size > MANIFEST_BYTES_MAX:
            raise BackupRefused(f"its manifest has more than {MANIFEST_BYTES_MAX:,} bytes")
        self.manifest: Final = manifest_of(b"".join(self._slices(size)))

    def members(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        """Yield each member of the archive, and an iterator over slices of its contents.

        The caller must read all slices of a member before it requests the next member. After the
        last slice, the SHA-256 of the contents is compared with the SHA-256 in the manifest.
        """
        for member in self.manifest.members:
            header = _header_of(member.name, member.size)
            if self._read(len(header)) != header:
                raise BackupRefused(f"{member.name!a} is not where its manifest has it")
            yield member, self._verified(member)
        if self._read(len(_END)) != _END or self._read(1, at_end=True):
            raise BackupRefused("it goes beyond the members that its manifest has")

    def _verified(self, member: Member) -> Iterator[bytes]:
        digest = hashlib.sha256()
        for each in self._slices(member.size):
            digest.update(each)
            yield each
        if digest.hexdigest() != member.sha256:
            raise BackupRefused(f"{member.name!a} has another SHA-256 than its manifest has")

    def _slices(self, size: int) -> Iterator[bytes]:
        for at in range(0, size, SLICE_BYTES):
            yield self._read(min(SLICE_BYTES, size - at))
        if any(self._read(-size % BLOCK_BYTES)):
            raise BackupRefused("there are bytes between its members")

    def _read(self, size: int, *, at_end: bool = False) -> bytes:
        try:
            found = self._stream.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise BackupRefused("it is damaged or cut off, or not a backup of Oncegate") from None
        if len(found) != size and not at_end:
            raise BackupRefused("it is cut off")
        return found


def _size_in(header: bytes) -> int | None:
    """Return the member size in a tar header, or None if the block is not a tar header."""
    try:
        return int(tarfile.TarInfo.frombuf(header, "utf-8", "strict").size)
    except (tarfile.TarError, ValueError):
        return None
