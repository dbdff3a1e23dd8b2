"""The faults of the disk while the power is on, and the operations that fail."""

import errno
import os
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

ReadFault = tuple[str, int, int | None]
"""A pattern of paths, and a range of unreadable bytes: the first, and the end or None."""


@dataclass
class Faults:
    """The current faults. Each stays until it is changed.

    A pattern is matched against a file's path on the disk, such as `/data/journal/*`. An empty
    pattern matches nothing.
    """

    no_sockets: bool = False
    """Unix sockets cannot be created (ENOSYS), as on FAT and some network file systems."""

    read_only: bool = False
    """Changes fail with EROFS, as after `errors=remount-ro`."""

    fsync_fails: bool | str = False
    """Fsync fails with EIO, for all files or those of a pattern. Its data are never written."""

    free_bytes: int | None = None
    """The free space, or None for unlimited space."""

    is_lying: bool = False
    """An fsync makes durable only what the previous fsync covered."""

    fsync_seconds: float = 0.0
    """The duration of an fsync: some milliseconds on an SD card."""

    read_fails: list[ReadFault] = field(default_factory=list)
    """Ranges of bytes whose reads fail with EIO.

    The kernel reads ahead and in pages, so a read that begins before a range is short, as from a
    real disk.
    """

    write_fails: str = ""
    """Writes into these files fail with EIO, and change nothing."""

    short_writes: str = ""
    """Writes into these files write half of the bytes, and return this count."""

    short_reads: str = ""
    """Reads from these files return half of the bytes.

    These reads bypass the page cache, so that the reader notices. This does not work for files that
    SQLite maps.
    """

    failures_left: int | None = None
    """The number of operations that fail with EIO until the disk works again, or None for all."""

    def reading(self, path: str, offset: int, size: int) -> int:
        """Return the number of bytes that a read returns. Raises OSError if it fails."""
        for pattern, first, end in self.read_fails:
            if (
                fnmatchcase(path, pattern)
                and first < offset + size
                and (end is None or offset < end)
            ):
                self._fail()
        return (size + 1) // 2 if fnmatchcase(path, self.short_reads) else size

    def writing(self, path: str, size: int) -> int:
        """Return the number of bytes that a write accepts. Raises OSError if it fails."""
        if fnmatchcase(path, self.write_fails):
            self._fail()
        return (size + 1) // 2 if fnmatchcase(path, self.short_writes) else size

    def does_fsync_fail(self, path: str) -> bool:
        """Return True if an fsync of this file or folder fails. Each failure is counted."""
        fails = self.fsync_fails
        if not (fnmatchcase(path, fails) if isinstance(fails, str) else fails):
            return False
        return self._counts()

    def _fail(self) -> None:
        if self._counts():
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _counts(self) -> bool:
        """Count a failure. Return False when no failures are left."""
        if self.failures_left is None:
            return True
        if self.failures_left <= 0:
            return False
        self.failures_left -= 1
        return True
