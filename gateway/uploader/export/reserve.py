"""A file that reserves disk space, so that the session log can continue when the disk is full.

When an operation fails because the disk is full, a part of the reserve is freed. The operation is
retried immediately, before other programs use the space. If the upload target is on another disk,
the space for one small segment is enough. When this segment has been uploaded, the broker can
remove the segment's events from its journal, which frees more space.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

from gateway.process.files.disk_errors import line_of
from gateway.process.files.private import open_private
from gateway.uploader.settings import RESERVE_BYTES_MAX, RESERVE_SHARE, RESERVE_STEP_BYTES

logger = logging.getLogger(__name__)


class Reserve:
    """The file log/reserve, which reserves disk space for the session log."""

    def __init__(self, log_dir: Path) -> None:
        self._path = log_dir / "reserve"

    def make(self) -> None:
        """Extend the reserve file to its full size, if the disk has enough free space."""
        disk = os.statvfs(self._path.parent)
        size_bytes = min(RESERVE_BYTES_MAX, disk.f_blocks * disk.f_frsize // RESERVE_SHARE)
        if self._size() >= size_bytes or self.is_tight():
            return
        try:
            descriptor = open_private(self._path, os.O_RDWR | os.O_CREAT)
            try:
                os.posix_fallocate(descriptor, 0, size_bytes)
            finally:
                os.close(descriptor)
        except OSError as problem:
            logger.info("no reserve for a full disk could be made: %s", line_of(problem))

    def give(self) -> bool:
        """Free a part of the reserve. Return True, or False if the reserve was already empty."""
        size_bytes = self._size()
        with suppress(OSError):
            os.truncate(self._path, max(0, size_bytes - RESERVE_STEP_BYTES))
            return size_bytes > 0
        return False

    def is_tight(self) -> bool:
        """Return True if there is so little free disk space that segments should be small."""
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * RESERVE_SHARE < 4 * disk.f_blocks

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0
