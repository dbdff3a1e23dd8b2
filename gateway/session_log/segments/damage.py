"""What cannot be read is kept in log/damaged: for people to look at, or to be tried again.

A segment there has not reached its target: it is never removed for an error, and comes back when it
can be read, unless its events were exported again meanwhile. Of everything else (blobs of the
journal, a chain's state, segments that were exported again) a bounded number is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from gateway.files.durable import make_folder, move_durably, replace_durably
from gateway.session_log.segments.names import SegmentName, segment_name_of, segments_in
from gateway.session_log.settings import DAMAGED_FILES_MAX

logger = logging.getLogger(__name__)


def set_aside(log_dir: Path, path: Path) -> None:
    """Move a damaged file to log/damaged."""
    directory = _directory_with_room(log_dir)
    move_durably(path, directory / path.name)


def is_set_aside(log_dir: Path, path: Path) -> bool:
    """Return whether a file of this name was moved to log/damaged."""
    return (log_dir / "damaged" / path.name).exists()


def segments_set_aside(log_dir: Path) -> list[SegmentName]:
    """Return the segments in log/damaged, in the order of the chain."""
    try:
        return segments_in(log_dir / "damaged")
    except FileNotFoundError:
        return []


def exported_again(log_dir: Path, names: Sequence[SegmentName]) -> set[SegmentName]:
    """Return those of which another segment in log/sealed or log/sent has number and events.

    The journal has no gap of its own behind the first of them: what the other one lacks at its end
    stands in the segments after it.
    """
    wanted = {(name.gateway, name.segment) for name in names}
    others = [
        other
        for directory in ("sealed", "sent")
        for other in segments_in(log_dir / directory)
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
    """Rename a segment in log/damaged whose events were exported again: it is tried no more."""
    path = _directory_with_room(log_dir) / str(name)
    move_durably(path, path.with_name(f"{name}.exported-again"))


def bring_back(log_dir: Path, name: SegmentName) -> None:
    """Move a segment that can be read again from log/damaged to log/sealed."""
    move_durably(log_dir / "damaged" / str(name), log_dir / "sealed" / str(name))


def keep_damaged(log_dir: Path, name: str, data: bytes) -> None:
    """Write damaged bytes to log/damaged under ``name``."""
    path = _directory_with_room(log_dir) / name
    replace_durably(path, data, partial=path.with_name(f".{name}.partial"))


def _directory_with_room(log_dir: Path) -> Path:
    directory = log_dir / "damaged"
    make_folder(directory)
    others = (path for path in directory.iterdir() if segment_name_of(path.name) is None)
    files = sorted(others, key=lambda path: path.stat().st_mtime_ns)
    for path in files[: max(0, len(files) - DAMAGED_FILES_MAX + 1)]:
        path.unlink(missing_ok=True)
        logger.warning("log/damaged is full: %s was removed", path.name)
    return directory
