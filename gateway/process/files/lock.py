"""File locks between processes, which use flock. The kernel releases them when a process ends.

With `ProcessLock` a second process gets an error. With `alone_in` a second process waits.
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
"""Bytes read from a lock file. It contains a process id, which has at most 7 digits."""


class LockTaken(RuntimeError):
    """Another process holds the lock."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is locked by process {holder or '?'}")
        self.holder = holder
        """The process id of the lock's holder, or an empty string if it is unknown."""


class ProcessLock:
    """A file lock that one process can hold. A second process gets `LockTaken`."""

    def __init__(self, path: Path) -> None:
        """Open the lock file, and create it if necessary. It is not locked yet.

        Raises:
            OSError: if the file cannot be opened, or is a link or not a regular file.
        """
        self._path = path
        # A file object, not a bare descriptor, so that a lock is released even if it is not closed.
        self._file = FileIO(open_private(path, os.O_RDWR | os.O_CREAT), "r+")

    def take(self) -> None:
        """Lock the file until `close` is called or the process ends.

        On an error, this object is closed.

        Raises:
            LockTaken: if another process holds the lock.
            OSError: if the file system does not support locks.
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
        """Write this process's id into the lock file, for the error message of other processes.

        Raises:
            OSError: if the write fails for a reason other than a full disk. In this case the lock
                is closed.
        """
        try:
            os.ftruncate(self._file.fileno(), 0)
            os.pwrite(self._file.fileno(), str(os.getpid()).encode("ascii"), 0)
        except OSError as error:
            # On a full disk the process id is missing, but the lock is still valid.
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
    """Hold an exclusive lock on a folder within this context, after waiting for other holders.

    Raises:
        OSError: if the folder cannot be opened or locked.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
