"""What is wrong with the disk while the power is on, and which operation meets it."""

import errno
import os
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

ReadFault = tuple[str, int, int | None]
"""A pattern of paths, and the bytes from one offset to before another (None: to the end) that are
not given back."""


@dataclass
class Faults:
    """The faults that are on; each stays until it is set otherwise.

    A pattern is matched against a file's path on the disk, as `/data/journal/*`; "" is none.
    """

    no_sockets: bool = False
    """A Unix socket cannot be made (ENOSYS), as on FAT or on some network disks."""

    read_only: bool = False
    """Changes fail with EROFS, as after `errors=remount-ro`."""

    fsync_fails: bool | str = False
    """Fsync fails with EIO, and what it was for never reaches the medium; of all files or of those
    of a pattern."""

    free_bytes: int | None = None
    """How much room there is left."""

    is_lying: bool = False
    """Fsync makes durable only what the one before it was asked to."""

    fsync_seconds: float = 0.0
    """How long an fsync takes: on an SD card some milliseconds."""

    read_fails: list[ReadFault] = field(default_factory=list)
    """Reads that touch these bytes fail with EIO. The kernel reads ahead and by pages: a read that
    begins before them comes back short, as from a real disk."""

    write_fails: str = ""
    """Writes into these files fail with EIO, and change nothing."""

    short_writes: str = ""
    """Writes into these files take half of the bytes, and say so."""

    short_reads: str = ""
    """Reads of these files give half of the bytes. They bypass the page cache, so that the reader
    sees it; not for files that SQLite maps."""

    failures_left: int | None = None
    """How many operations fail with EIO before the disk is well again; None: all."""

    def reading(self, path: str, offset: int, size: int) -> int:
        """How many bytes a read gives back. Raises OSError."""
        for pattern, first, end in self.read_fails:
            if (
                fnmatchcase(path, pattern)
                and first < offset + size
                and (end is None or offset < end)
            ):
                self._fail()
        return (size + 1) // 2 if fnmatchcase(path, self.short_reads) else size

    def writing(self, path: str, size: int) -> int:
        """How many bytes a write takes. Raises OSError."""
        if fnmatchcase(path, self.write_fails):
            self._fail()
        return (size + 1) // 2 if fnmatchcase(path, self.short_writes) else size

    def does_fsync_fail(self, path: str) -> bool:
        """Whether an fsync of this file or folder fails; that one counts."""
        fails = self.fsync_fails
        if not (fnmatchcase(path, fails) if isinstance(fails, str) else fails):
            return False
        return self._counts()

    def _fail(self) -> None:
        if self._counts():
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _counts(self) -> bool:
        """Whether this failure happens; the last one mends the disk."""
        if self.failures_left is None:
            return True
        if self.failures_left <= 0:
            return False
        self.failures_left -= 1
        return True
