"""Locks between processes, by flock: the kernel lets go of them however their process ends.

`ProcessLock` refuses a second process, `alone_in` makes it wait.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from types import TracebackType

from gateway.files.disk_errors import is_full
from gateway.files.private import open_private

HOLDER_BYTES_MAX = 32
"""Of a process number in a lock's file; a number has 7 digits at the most."""


class LockTaken(RuntimeError):
    """Another process has the lock."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is locked by process {holder or '?'}")
        self.holder = holder
        """The number of that process, empty where it noted none."""


class ProcessLock:
    """A lock on a file: one process has it, and the next one is refused."""

    def __init__(self, path: Path) -> None:
        """Open the lock's file, made if it is missing; it is not locked yet.

        Raises:
            OSError: as `open_private`.
        """
        self._path = path
        # A file object, not a bare descriptor: a lock that is dropped unclosed is let go of too.
        self._file = FileIO(open_private(path, os.O_RDWR | os.O_CREAT), "r+")

    def take(self) -> None:
        """Lock the file until `close`, or the end of the process.

        Raises:
            LockTaken: another process has it; this one is closed.
            OSError: the file system cannot lock; this one is closed.
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
        """Write the number of this process into the file, for the message of one that is refused.

        Raises:
            OSError: the write failed, and not for want of room; the lock is closed.
        """
        try:
            os.ftruncate(self._file.fileno(), 0)
            os.pwrite(self._file.fileno(), str(os.getpid()).encode("ascii"), 0)
        except OSError as error:
            # On a full disk the number is missing; the lock holds all the same.
            if not is_full(error):
                self.close()
                raise

    def close(self) -> None:
        """Let go of the lock. A second call does nothing."""
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
    """Wait until no other process is in here with the same folder, and keep others waiting.

    Raises:
        OSError: the folder cannot be opened or locked.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
