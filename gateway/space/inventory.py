"""What lies in the data directory that may go, and how it goes."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway.space.budget import Item, Kind

SPARE = "journal/spare"

LOG_FOLDERS = {
    "log/sent": Kind.SENT,
    "log/damaged": Kind.DAMAGED,
    "log/sealed": Kind.SEGMENT,
    "uploaded": Kind.SEGMENT,
}

_SEGMENT = re.compile(
    r"(.+)\.([0-9]{8,19})\.([0-9]{12,19})-([0-9]{12,19})\.[0-9a-f]{64}\.jsonl\.zst"
)
"""The name of a sealed segment: docs/formats/session-log.md."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system."""

    total_bytes: int
    """0: the file system does not report it."""
    free_bytes: int
    """For us: not what is kept for the administrator."""


def disk_of(folder: Path) -> Disk:
    """Look at the file system. Raises OSError."""
    disk = os.statvfs(folder)
    return Disk(disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize)


def items_in(data_dir: Path) -> list[Item]:
    """List what may go, the journal aside. Raises OSError; what goes meanwhile is left out."""
    items: list[Item] = []
    for folder, kind in LOG_FOLDERS.items():
        items += _files_of(data_dir, folder, kind)
    for path in _children(data_dir / "damaged"):
        items += _item_of(data_dir, path, Kind.DAMAGED)
    for path in _children(data_dir):
        if path.name.startswith("outbox.db.damaged"):
            items += _item_of(data_dir, path, Kind.DAMAGED)
    items += _item_of(data_dir, data_dir / SPARE, Kind.SPARE)
    return items


def _files_of(data_dir: Path, folder: str, kind: Kind) -> Iterator[Item]:
    for path in _children(data_dir / folder):
        segment = _SEGMENT.fullmatch(path.name)
        if segment is None:
            if kind == Kind.DAMAGED:
                yield from _item_of(data_dir, path, kind)
            continue
        number, first, last = (int(text) for text in segment.groups()[1:])
        # A segment that cannot be read just now is tried again: it is as unsent as those beside it.
        counts_as = Kind.SEGMENT if kind == Kind.DAMAGED else kind
        for item in _item_of(data_dir, path, kind):
            yield Item(counts_as, item.path, item.size_bytes, number, first, last)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _item_of(data_dir: Path, path: Path, kind: Kind) -> list[Item]:
    """Return one item for a file or a whole folder; none where there is nothing."""
    try:
        status = path.lstat()
        size_bytes = status.st_blocks * 512
        if path.is_dir() and not path.is_symlink():
            size_bytes += sum(each.lstat().st_blocks * 512 for each in path.rglob("*"))
    except FileNotFoundError:
        return []
    return [Item(kind, str(path.relative_to(data_dir)), size_bytes, status.st_mtime_ns)]


def remove(data_dir: Path, item: Item) -> bool:
    """Remove an item; return whether it was there. Raises OSError."""
    path = data_dir / item.path
    try:
        if path.is_dir() and not path.is_symlink():
            for each in sorted(path.rglob("*"), reverse=True):
                each.rmdir() if each.is_dir() and not each.is_symlink() else each.unlink()
            path.rmdir()
        else:
            path.unlink()
    except FileNotFoundError:
        return False
    return True
