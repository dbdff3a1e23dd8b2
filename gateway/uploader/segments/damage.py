"""Unreadable files in log/damaged, where an operator can examine them.

When a segment in log/damaged is readable again, it is uploaded, unless its events were exported
again in the meantime. The number of all other files (batches of the journal, versions of
log/chain.json, and segments that were exported again) is limited.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway.process.files.durable import make_folder, move_durably, replace_durably
from gateway.process.files.segment_folders import subfolder_of
from gateway.uploader.segments.names import (
    SegmentName,
    each_segment_in,
    make_path,
    path_of,
    segment_name_of,
    segments_of,
)
from gateway.uploader.settings import DAMAGED_FILES_MAX

logger = logging.getLogger(__name__)


def set_aside(log_dir: Path, path: Path) -> None:
    """Move a damaged file to log/damaged."""
    directory = _directory_with_room(log_dir)
    name = segment_name_of(path.name)
    move_durably(path, directory / path.name if name is None else make_path(directory, name))


def is_set_aside(log_dir: Path, name: SegmentName) -> bool:
    """Return True if a segment is in log/damaged."""
    return path_of(log_dir / "damaged", name).exists()


def segments_set_aside(log_dir: Path) -> Iterator[SegmentName]:
    """Yield the segments in log/damaged, in the order of the chain."""
    return each_segment_in(log_dir / "damaged")


def exported_again(log_dir: Path, names: Sequence[SegmentName]) -> set[SegmentName]:
    """Return the damaged segments in `names` whose events were exported again.

    The events of a segment were exported again if log/sealed or log/sent contains another segment
    that has the same number and begins with the same event or an earlier one. If the new segment is
    shorter, the following segments contain the remaining events.
    """
    wanted = {(name.gateway, name.segment) for name in names}
    folders = {
        subfolder_of(log_dir / directory, segment)
        for directory in ("sealed", "sent")
        for _, segment in wanted
    }
    others = [
        other
        for folder in folders
        for other in segments_of(folder)
        if (other.gateway, other.segment) in wanted
    ]
    return {
        name
        for name in names
        if any(
            other != name
            and (other.gateway, other.segment) == (name.gateway, name.segment)
            and other.first_sequence <= name.first_sequence
            for other in others
        )
    }


def retire(log_dir: Path, name: SegmentName) -> None:
    """Rename a segment in log/damaged, because its events were exported again.

    After this, its upload is not retried.
    """
    directory = _directory_with_room(log_dir)
    move_durably(path_of(directory, name), directory / f"{name}.exported-again")


def restore_readable(log_dir: Path, name: SegmentName) -> None:
    """Move a segment that is readable again from log/damaged to log/sealed."""
    move_durably(path_of(log_dir / "damaged", name), make_path(log_dir / "sealed", name))


def keep_damaged(log_dir: Path, name: str, data: bytes) -> None:
    """Write damaged data to a file in log/damaged.

    If log/damaged contains too many files that are not segments, the oldest of them are removed.
    """
    path = _directory_with_room(log_dir) / name
    replace_durably(path, data, partial=path.with_name(f".{name}.partial"))


def _directory_with_room(log_dir: Path) -> Path:
    directory = log_dir / "damaged"
    make_folder(directory)
    others = (
        path
        for path in directory.iterdir()
        if segment_name_of(path.name) is None and not path.is_dir()
    )
    files = sorted(others, key=lambda path: path.stat().st_mtime_ns)
    for path in files[: max(0, len(files) - DAMAGED_FILES_MAX + 1)]:
        path.unlink(missing_ok=True)
        logger.warning("log/damaged is full: %s was removed", path.name)
    return directory
