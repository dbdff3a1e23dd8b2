"""Functions that find segments in directories, sort them, and load their events."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from gateway.tools.audit.log_reader import EventRange
from gateway.uploader.segments.names import SegmentName, path_of, segment_name_of
from gateway.uploader.segments.verify import load_segment

SUFFIX = ".jsonl.zst"


def segments_below(directories: list[Path]) -> tuple[dict[str, str], list[Path]]:
    """Return a mapping from segment file names to folders, and a list of misnamed files.

    A misnamed file has the suffix of a segment, but not a segment's name. The directories are
    searched recursively, in the given order. A missing directory counts as empty. The result needs
    little memory even for a year of segments, because each folder's path is stored only once.
    """
    found: dict[str, str] = {}
    strange: list[Path] = []
    for directory in directories:
        for folder, below, names in os.walk(directory):
            below.sort()
            for name in sorted(names):
                if not name.endswith(SUFFIX):
                    continue
                if segment_name_of(name) is None:
                    strange.append(Path(folder, name))
                else:
                    found.setdefault(name, folder)
    return found, strange


def in_order(found: dict[str, str]) -> Iterator[tuple[SegmentName, Path]]:
    """Yield the segments in `found` with their paths, ordered by gateway and then by number."""
    # A gateway's names have the same prefix, so they are adjacent.
    for _, texts in groupby(sorted(found), _gateway_of):
        for text in sorted(texts, key=_number_of):
            name = segment_name_of(text)
            assert name is not None
            yield name, Path(found[text], text)


def _gateway_of(text: str) -> str:
    return text.partition(".")[0]


def _number_of(text: str) -> int:
    return int(text.split(".", 3)[2])


def event_range_of(name: SegmentName, path: Path) -> EventRange:
    """Load a segment from a file, and return its events and header fields.

    If the uploader has moved the file from `sealed` to `sent`, it is read from there. Raises
    `DamagedSegment` if the segment is invalid, and `OSError` if it cannot be read.
    """
    try:
        segment = load_segment(path)
    except FileNotFoundError:
        # The uploader has just moved the file.
        sealed = path.parent if path.parent.name == "sealed" else path.parent.parent
        segment = load_segment(path_of(sealed.parent / "sent", name))
    previous = segment.header.get("previous_sha256")
    return EventRange(
        name.gateway,
        str(segment.header.get("store")),
        name.boot,
        name.first_sequence,
        segment.events,
        path.name,
        name.segment,
        name.sha256,
        previous if isinstance(previous, str) else None,
        segment.public_key,
    )
