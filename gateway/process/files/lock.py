"""Locks between processes by flock, which the kernel releases however a process ends.

`ProcessLock` rejects a second process; `alone_in` makes it wait.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from types import TracebackType

from gateway.process.files.disk_errors import is_full
from gateway.process.files.private import open_private

HOLDER_BYTES_MAX = 32
"""Longest process id in a lock file; an id has at most 7 digits."""


class LockTaken(RuntimeError):
    """Another process holds the lock."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is locked by process {holder or '?'}")
        self.holder = holder
        """The process id of the holder; empty if unknown."""


class ProcessLock:
    """A file lock held by one process. Another process is rejected."""

    def __init__(self, path: Path) -> None:
        """Open the lock file, creating it if necessary. It is not locked yet.

        Raises:
            OSError: as `open_private`.
        """
        self._path = path
        # A file object, not a bare descriptor, so that a lock is released even if it is not closed.
        self._file = FileIO(open_private(path, os.O_RDWR | os.O_CREAT), "r+")

    def take(self) -> None:
        """Lock the file until `close`, or until the process ends.

        Raises:
            LockTaken: another process holds the lock. This object is closed.
            OSError: the file system does not support locks. This object is closed.
        """
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file.fileno(), HOLDER_BYTES_MAX, 0).decode("ascii", "replace")
            self.close()
            raise LockTaken(self._path, holder.strip()) from None
        except OSError:
            self.close()
            raise

    def note_holder(self) -> None:
        """Write this process's id into the file, for the error message of a rejected process.

        Raises:
            OSError: the write failed for a reason other than lack of space. The lock is closed.
        """
        try:
            os.ftruncate(self._file.fileno(), 0)
            os.pwrite(self._file.fileno(), str(os.getpid()).encode("ascii"), 0)
        except OSError as error:
            # On a full disk the process id is missing, but the lock is valid.
            if not is_full(error):
                self.close()
                raise

    def close(self) -> None:
        """Release the lock. Repeated calls have no effect."""
        self._file.close()

    def __enter__(self) -> "ProcessLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder; wait until no other process holds it.

    Raises:
        OSError: the folder cannot be opened or locked.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
