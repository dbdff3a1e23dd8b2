"""Checks of free disk space. The session log must leave enough space for the broker."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gateway.uploader.settings import FREE_BYTES_MAX, FREE_SHARE


def check_free_space(directory: Path, bytes_min: int | None) -> None:
    """Raise `OSError` (ENOSPC) if fewer than ``bytes_min`` bytes are free.

    The check applies to the disk of ``directory``. If ``bytes_min`` is None, a fraction of the
    disk's size must be free.
    """
    disk = os.statvfs(directory)
    if bytes_min is None:
        bytes_min = min(FREE_BYTES_MAX, disk.f_blocks * disk.f_frsize // FREE_SHARE)
    bytes_free = disk.f_bavail * disk.f_frsize
    if bytes_free < bytes_min:
        raise OSError(
            errno.ENOSPC, f"{bytes_free} bytes are free, {bytes_min} are kept free", str(directory)
        )


def is_on_disk_of(url: str, directory: Path) -> bool:
    """Return True if the target URL is a directory in the same file system as ``directory``.

    Moving segments to such a target frees no space for the broker.
    """
    parts = urlsplit(url)
    if parts.scheme != "file":
        return False
    path = Path(unquote(parts.path))
    while not path.exists() and path != path.parent:
        path = path.parent
    return path.stat().st_dev == directory.stat().st_dev
