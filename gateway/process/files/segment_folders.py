"""Folders of segments (the files of the session log), with one subfolder per thousand segments.

Segments 1 to 999 are in the folder itself. Each following thousand is in a subfolder::

    log/sent/<name of segment 999>
    log/sent/00012___/<name of segment 12345>

Even a gateway with little traffic writes 500,000 segments a year. With subfolders, only the changed
subfolders must be read to count the segments, and only one folder to find the oldest segment. A FAT
file system can also be used, although it allows only about 5,000 such long names per folder.
"""

import heapq
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.process.files.durable import make_folder

SUBFOLDER_SEGMENTS = 1_000
"""Number of segments per subfolder. Listing them takes a few milliseconds. A gateway that seals one
segment per minute starts a new subfolder every 17 hours."""

SETTLED_NS = 2_000_000_000
"""Age from which a folder's modification time is trusted, in nanoseconds.

Two changes within one tick of the file system's clock (10 ms, or 2 s for FAT) have the same time.
"""

_SUBFOLDER = re.compile(r"[0-9]{5,16}___")
"""The name of a subfolder: a segment number with underscores for its last three digits. No gateway
id has this form."""

_SEGMENT = re.compile(r".+\.([0-9]{8,19})\.([0-9]{12,19})-([0-9]{12,19})\.[0-9a-f]{64}\.jsonl\.zst")
"""The file name of a sealed segment (docs/formats/session-log.md)."""


@dataclass(frozen=True, slots=True, order=True)
class SegmentFile:
    """A segment file: the fields of its name, and its size. Segment files are ordered by number."""

    number: int
    name: str
    first_sequence: int
    last_sequence: int
    size_bytes: int = 0
    disk_bytes: int = 0
    """The size of the segment's blocks on disk."""


@dataclass(frozen=True, slots=True)
class Subfolder:
    """Totals for the segments in one folder, not including subfolders."""

    path: Path
    count: int
    size_bytes: int
    disk_bytes: int
    first_number: int
    first_sequence: int
    last_sequence: int


def subfolder_of(folder: Path, number: int) -> Path:
    """Return the folder for the segment `number`: `folder` itself or one of its subfolders."""
    if number < SUBFOLDER_SEGMENTS:
        return folder
    return folder / f"{number // SUBFOLDER_SEGMENTS:05d}___"


def make_subfolder(folder: Path, number: int) -> Path:
    """Return the folder for the segment `number`. Create the folder if it does not exist.

    A new folder gets the mode of its parent, so that other processes can remove files from the new
    folder too. Raises OSError on failure.
    """
    path = subfolder_of(folder, number)
    if not path.is_dir():
        make_folder(path)
        with suppress(PermissionError):
            # FAT has no modes.
            path.chmod(folder.stat().st_mode & 0o7777)
    return path


def segment_file_of(name: str) -> SegmentFile | None:
    """Parse the file name of a segment. Return None if `name` is not such a file name."""
    match = _SEGMENT.fullmatch(name)
    if match is None:
        return None
    number, first, last = map(int, match.groups())
    return SegmentFile(number, name, first, last)


def subfolders_in(folder: Path, *, newest_first: bool = False) -> list[Path]:
    """Return the folder itself and its subfolders, in the order of their segment numbers."""
    names: list[str] = []
    for _ in _scan(folder, names):
        pass
    paths = [folder, *(folder / name for name in _in_order(names))]
    return paths[::-1] if newest_first else paths


def names_in(folder: Path) -> Iterator[str]:
    """Yield the names of all files in a folder and its subfolders, in no particular order."""
    for path in subfolders_in(folder):
        with suppress(FileNotFoundError), os.scandir(path) as entries:
            yield from (entry.name for entry in entries)


def oldest_in(path: Path, count: int) -> list[SegmentFile]:
    """Return up to `count` segments from a folder, oldest first, with their sizes.

    Subfolders are not searched. Raises OSError if the folder cannot be read.
    """
    return heapq.nsmallest(count, _scan(path, []))


def put_in_place(folder: Path) -> None:
    """Move segments that a person has copied into `folder` to the right subfolders.

    Raises OSError if a segment cannot be moved.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            file = segment_file_of(entry.name)
            if file is not None and file.number >= SUBFOLDER_SEGMENTS:
                with suppress(FileNotFoundError):
                    os.rename(entry.path, make_subfolder(folder, file.number) / entry.name)


def remove_if_empty(folder: Path, path: Path) -> None:
    """Remove the subfolder `path` if it is empty. `folder` itself is never removed."""
    if path != folder:
        with suppress(OSError):
            path.rmdir()


class SegmentFolder:
    """A folder of segments, with their number and total size. `list_folders` updates both.

    All methods must be called in the same thread.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[tuple[int, int], Subfolder]] = {}
        self._subfolders: list[str] = []
        self.count = 0
        self.size_bytes = 0

    def list_folders(self) -> list[Subfolder]:
        """Update the totals, and return all folders that contain segments, oldest first.

        Only folders that have changed are read again. A missing folder counts as empty. Raises
        OSError if a folder cannot be read.
        """
        before, self._known = self._known, {}
        found = [self._total_of(self.folder, before)]
        for name in self._subfolders:
            found.append(self._total_of(self.folder / name, before))
        held = [each for each in found if each is not None and each.count]
        self.count = sum(each.count for each in held)
        self.size_bytes = sum(each.size_bytes for each in held)
        return sorted(held, key=lambda each: (each.first_number, each.path))

    def _total_of(
        self, path: Path, before: dict[Path, tuple[tuple[int, int], Subfolder]]
    ) -> Subfolder | None:
        now = time.time_ns()
        try:
            status = path.stat()
        except FileNotFoundError:
            if path == self.folder:
                self._subfolders = []
            return None
        mark = (status.st_ino, status.st_mtime_ns)
        known = before.get(path)
        if known is not None and known[0] == mark:
            self._known[path] = known
            return known[1]
        names: list[str] = []
        total = _total(path, _scan(path, names))
        if path == self.folder:
            self._subfolders = _in_order(names)
        if abs(now - status.st_mtime_ns) >= SETTLED_NS:
            self._known[path] = (mark, total)
        return total


def _total(path: Path, files: Iterable[SegmentFile]) -> Subfolder:
    count = size_bytes = disk_bytes = last_sequence = 0
    first: SegmentFile | None = None
    for file in files:
        count += 1
        size_bytes += file.size_bytes
        disk_bytes += file.disk_bytes
        last_sequence = max(last_sequence, file.last_sequence)
        first = file if first is None else min(first, file)
    number, sequence = (first.number, first.first_sequence) if first is not None else (0, 0)
    return Subfolder(path, count, size_bytes, disk_bytes, number, sequence, last_sequence)


def _scan(path: Path, subfolders: list[str]) -> Iterator[SegmentFile]:
    """Yield the segments in one folder with their sizes.

    The names of the folder's subfolders are appended to `subfolders`.
    """
    with os.scandir(path) as entries:
        for entry in entries:
            file = segment_file_of(entry.name)
            if file is None:
                if _SUBFOLDER.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    subfolders.append(entry.name)
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # It was moved or removed just now.
            yield replace(file, size_bytes=status.st_size, disk_bytes=status.st_blocks * 512)


def _in_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: (len(name), name))
