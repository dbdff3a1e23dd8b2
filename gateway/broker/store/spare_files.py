"""The journal's preallocated files: a spare file for reuse, and a reserve for a full disk."""

import os
from pathlib import Path

from gateway.process.files.durable import fsync_folder
from gateway.process.files.private import open_private

SPARE_NAME = "spare"
"""Name of a file whose events are no longer needed, kept to be reused."""

RESERVE_NAME = "reserve"
"""Name of a file with blocks already allocated, used when the disk is full."""

RESERVE_PARTIAL_NAME = "reserve.partial"


class SpareFiles:
    """The spare file and the reserve file of a journal. Either file can be missing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.spare = folder / SPARE_NAME
        """Path of the file that the journal uses next. It is created if it does not exist."""
        self._reserve = folder / RESERVE_NAME
        self._reserve_bytes = 0
        """Minimum length of the reserve file in bytes, or 0 if no reserve is configured."""

    def with_room(self, size_bytes: int) -> Path | None:
        """Return a file of at least `size_bytes`, or None if there is no such file.

        The spare file is preferred to the reserve file.
        """
        for path in (self.spare, self._reserve):
            if path.exists() and path.stat().st_size >= size_bytes:
                return path
        return None

    def has_reserve(self) -> bool:
        """Return True if there is a reserve file for a full disk."""
        return self._reserve.exists()

    def create_reserve(self, size_bytes: int) -> None:
        """If there is no reserve file for a full disk, create one of at least `size_bytes`.

        The call blocks, but can run in a separate thread. Raises OSError if the file cannot be
        created.
        """
        self._reserve_bytes = size_bytes
        if self.has_reserve():
            return
        partial = self._folder / RESERVE_PARTIAL_NAME
        try:
            with os.fdopen(open_private(partial, os.O_WRONLY | os.O_CREAT), "wb") as file:
                os.posix_fallocate(file.fileno(), 0, size_bytes)
                os.fsync(file.fileno())
            partial.rename(self._reserve)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        fsync_folder(self._folder)

    def delete_reserve(self) -> bool:
        """Delete the reserve file to free its space. Return False if there is no such file."""
        if not self.has_reserve():
            return False
        self._reserve.unlink()
        return True

    def keep_or_delete(self, path: Path, file_bytes: int) -> None:
        """Keep a journal file as the spare file or the reserve. If neither is needed, delete it.

        A file is kept so that other programs cannot use up its disk space.

        Args:
            path: the file, whose events are no longer needed.
            file_bytes: maximum length of a spare file in bytes.
        """
        size_bytes = path.stat().st_size
        if size_bytes >= self._reserve_bytes > 0 and not self.has_reserve():
            path.rename(self._reserve)
        elif size_bytes <= file_bytes and not self.spare.exists():
            path.rename(self.spare)
        else:
            path.unlink()
