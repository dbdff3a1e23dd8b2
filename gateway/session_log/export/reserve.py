"""Room that the session log has taken in advance, to go on with when the disk is full.

It is given up step by step, and what needs it tries again immediately: on a disk that others fill,
what is freed is soon gone. With a target elsewhere a small segment is enough to give the journal's
room back.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

from gateway.files.disk_errors import line_of
from gateway.files.private import open_private
from gateway.session_log.settings import RESERVE_BYTES_MAX, RESERVE_SHARE, RESERVE_STEP_BYTES

logger = logging.getLogger(__name__)


class Reserve:
    """The file log/reserve."""

    def __init__(self, log_dir: Path) -> None:
        self._path = log_dir / "reserve"

    def make(self) -> None:
        """Take the room again where there is enough; nothing happens where there is not."""
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
        """Free a step of it; whether there was any left."""
        size_bytes = self._size()
        with suppress(OSError):
            os.truncate(self._path, max(0, size_bytes - RESERVE_STEP_BYTES))
            return size_bytes > 0
        return False

    def is_tight(self) -> bool:
        """Return whether so little is free that segments had better be small."""
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * RESERVE_SHARE < 4 * disk.f_blocks

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0
