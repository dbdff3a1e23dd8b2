"""Lists and removes those files in the data directory that may be removed."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.broker.disk_budget.budget import Item, Kind
from gateway.process.files.segment_folders import (
    SegmentFile,
    SegmentFolder,
    Subfolder,
    oldest_in,
    remove_if_empty,
    segment_file_of,
)

SPARE = "journal/spare"

LOG_FOLDERS = {
    "log/sent": Kind.SENT,
    "log/sealed": Kind.SEGMENT,
    "uploaded": Kind.SEGMENT,
    # A segment that cannot be read now is tried again: it counts as unsent.
    "log/damaged": Kind.SEGMENT,
}
"""Folders with segments, and the kind of the files in each folder."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Size and free space of a file system."""

    total_bytes: int
    """Size in bytes, or 0 if the file system does not report it."""
    free_bytes: int
    """Available space in bytes, without the part that is reserved for the administrator."""
    total_files: int
    """Number of inodes, or 0 if the file system creates them on demand."""


def disk_of(folder: Path) -> Disk:
    """Return the size and free space of the file system that contains `folder`.

    Raises OSError if the file system cannot be queried.
    """
    disk = os.statvfs(folder)
    return Disk(disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize, disk.f_files)


class Inventory:
    """List of the removable files. Of the journal's files, only the spare file is included.

    Only folders that have changed since the last call are listed again.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._folders = {name: SegmentFolder(data_dir / name) for name in LOG_FOLDERS}

    def totals(self) -> list[Item]:
        """Return all removable files, with the segments of each subfolder combined into one item.

        Raises OSError if a folder cannot be listed.
        """
        items = self._others()
        for name, kind in LOG_FOLDERS.items():
            items += [self._whole(each, kind) for each in self._folders[name].list_folders()]
        return items

    def items(self, oldest_count: int) -> list[Item]:
        """Return all removable files.

        The oldest `oldest_count` segments of each log folder are separate items. The newer segments
        are combined into one item for each subfolder. Files that disappear during the call are
        skipped. Raises OSError if a folder cannot be listed.
        """
        items = self._others()
        for name, kind in LOG_FOLDERS.items():
            wanted = oldest_count
            for whole in self._folders[name].list_folders():
                found = oldest_in(whole.path, wanted) if wanted else []
                wanted -= len(found)
                items += [self._one(whole.path, file, kind) for file in found]
                if len(found) < whole.count:
                    items.append(self._whole(_without(whole, found), kind))
        return items

    def _others(self) -> list[Item]:
        """Return the damaged files that are not segments, and the journal's spare file."""
        data_dir = self._data_dir
        paths = [
            path
            for path in _children(data_dir / "log/damaged")
            if segment_file_of(path.name) is None and not path.is_dir()
        ]
        paths += _children(data_dir / "damaged")
        paths += [p for p in _children(data_dir) if p.name.startswith("outbox.db.damaged")]
        items = [item for path in paths for item in _item_of(data_dir, path, Kind.DAMAGED)]
        return items + _item_of(data_dir, data_dir / SPARE, Kind.SPARE)

    def _whole(self, folder: Subfolder, kind: Kind) -> Item:
        return Item(
            kind,
            str(folder.path.relative_to(self._data_dir)),
            folder.disk_bytes,
            folder.first_number,
            folder.first_sequence,
            folder.last_sequence,
            folder.count,
        )

    def _one(self, folder: Path, file: SegmentFile, kind: Kind) -> Item:
        return Item(
            kind,
            str((folder / file.name).relative_to(self._data_dir)),
            file.disk_bytes,
            file.number,
            file.first_sequence,
            file.last_sequence,
        )


def _without(whole: Subfolder, files: list[SegmentFile]) -> Subfolder:
    """Return the totals of a subfolder, reduced by those of its oldest segments.

    `whole` contains the totals of all segments, and `files` the segments to subtract.
    """
    if not files:
        return whole
    return replace(
        whole,
        count=whole.count - len(files),
        disk_bytes=max(0, whole.disk_bytes - sum(file.disk_bytes for file in files)),
        first_number=files[-1].number + 1,
        first_sequence=files[-1].last_sequence + 1,
    )


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _item_of(data_dir: Path, path: Path, kind: Kind) -> list[Item]:
    """Return a list with one item for the file or folder at `path`.

    The list is empty if the path does not exist.
    """
    try:
        status = path.lstat()
        size_bytes = status.st_blocks * 512
        if path.is_dir() and not path.is_symlink():
            size_bytes += sum(each.lstat().st_blocks * 512 for each in path.rglob("*"))
    except FileNotFoundError:
        return []
    return [Item(kind, str(path.relative_to(data_dir)), size_bytes, status.st_mtime_ns)]


def remove(data_dir: Path, item: Item) -> bool:
    """Remove a file or folder. Return False if the path did not exist.

    Raises OSError if the file or folder cannot be removed.
    """
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
    for folder in LOG_FOLDERS:
        if path.is_relative_to(data_dir / folder):
            remove_if_empty(data_dir / folder, path.parent)
    return True
