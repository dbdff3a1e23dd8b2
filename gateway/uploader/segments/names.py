"""The names of segment files (docs/formats/session-log.md). A name describes the file's contents::

    <gateway>.<boot>.<segment, 8 digits>.<first>-<last, 12 digits each>.<sha256>.jsonl.zst

`boot` identifies the broker's run. `first` and `last` are the sequence numbers of the segment's
first and last event. `sha256` is the hash of the whole file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway.process.files.segment_folders import make_subfolder, subfolder_of, subfolders_in

_NAME = re.compile(
    r"(?P<gateway>[a-z0-9-]{1,64}(?:_[a-z0-9-]{1,32})?)\.(?P<boot>[0-9a-f]{16})\.(?P<segment>[0-9]{8,19})"
    r"\.(?P<first>[0-9]{12,19})-(?P<last>[0-9]{12,19})\.(?P<sha256>[0-9a-f]{64})\.jsonl\.zst"
)


@dataclass(frozen=True, slots=True)
class SegmentName:
    gateway: str
    boot: str
    segment: int
    first_sequence: int
    last_sequence: int
    sha256: str

    def __str__(self) -> str:
        return (
            f"{self.gateway}.{self.boot}.{self.segment:08d}."
            f"{self.first_sequence:012d}-{self.last_sequence:012d}.{self.sha256}.jsonl.zst"
        )


def segment_name_of(text: str) -> SegmentName | None:
    """Parse the name of a segment file, or return None if it is not a segment's name."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    name = SegmentName(
        gateway=match["gateway"],
        boot=match["boot"],
        segment=int(match["segment"]),
        first_sequence=int(match["first"]),
        last_sequence=int(match["last"]),
        sha256=match["sha256"],
    )
    # A segment has exactly one name, so an additional leading zero is not accepted.
    return name if str(name) == text else None


def path_of(directory: Path, name: SegmentName) -> Path:
    """Return the path of a segment in a folder with subfolders, such as log/sealed."""
    return subfolder_of(directory, name.segment) / str(name)


def make_path(directory: Path, name: SegmentName) -> Path:
    """Return the path of a segment. Create the segment's subfolder if necessary.

    Raises `OSError` if the subfolder cannot be created.
    """
    return make_subfolder(directory, name.segment) / str(name)


def segments_in(directory: Path) -> list[SegmentName]:
    """Return all segments in a directory in the order of the chain. Other files are ignored."""
    return [name for path in subfolders_in(directory) for name in segments_of(path)]


def each_segment_in(directory: Path, *, newest_first: bool = False) -> Iterator[SegmentName]:
    """Yield all segments in a directory, or none if the directory does not exist.

    Only the names in one subfolder are loaded at a time, to save memory.
    """
    try:
        paths = subfolders_in(directory, newest_first=newest_first)
    except FileNotFoundError:
        return
    for path in paths:
        names = segments_of(path)
        yield from reversed(names) if newest_first else names


def segments_of(path: Path) -> list[SegmentName]:
    """Return the segments in one subfolder in the order of the chain.

    The list is empty if the subfolder does not exist.
    """
    try:
        found = os.listdir(path)
    except FileNotFoundError:
        return []
    names = [segment_name_of(name) for name in found]
    return sorted(
        (name for name in names if name is not None), key=lambda name: (name.segment, str(name))
    )
