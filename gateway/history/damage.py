"""What cannot be read is kept for people to look at, a bounded number of files of it."""

from __future__ import annotations

import logging
from pathlib import Path

from gateway.history.durable import make_directory, move_durably, write_durably
from gateway.history.settings import DAMAGED_FILES_MAX

_log = logging.getLogger(__name__)


def set_aside(log_dir: Path, path: Path) -> None:
    """Move a damaged file to log/damaged; beyond the limit the oldest there goes."""
    directory = _directory_with_room(log_dir)
    move_durably(path, directory / path.name)


def is_set_aside(log_dir: Path, path: Path) -> bool:
    """Whether a file of this name was moved to log/damaged."""
    return (log_dir / "damaged" / path.name).exists()


def keep_damaged(log_dir: Path, name: str, data: bytes) -> None:
    """Write damaged bytes to log/damaged under ``name``."""
    path = _directory_with_room(log_dir) / name
    write_durably(path, data, partial=path.with_name(f".{name}.partial"))


def _directory_with_room(log_dir: Path) -> Path:
    directory = log_dir / "damaged"
    make_directory(directory)
    files = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in files[: max(0, len(files) - DAMAGED_FILES_MAX + 1)]:
        path.unlink(missing_ok=True)
        _log.warning("log/damaged is full: %s was removed", path.name)
    return directory
