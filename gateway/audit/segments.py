"""The segments of a log, from one or more directories, each once and in the order of the chain."""

from collections.abc import Iterator
from pathlib import Path

from gateway.audit.walk import Stretch
from gateway.session_log.segments.names import SegmentName, path_of, segment_name_of
from gateway.session_log.segments.verify import load_segment

SUFFIX = ".jsonl.zst"


def segments_below(directories: list[Path]) -> tuple[dict[SegmentName, Path], list[Path]]:
    """Return segments by name, and files that look like segments and have no segment's name.

    Directories are looked at in the order given, and below; one that is not there is empty.
    """
    found: dict[SegmentName, Path] = {}
    strange: list[Path] = []
    for directory in directories:
        for path in sorted(directory.rglob(f"*{SUFFIX}")):
            name = segment_name_of(path.name)
            if name is None:
                strange.append(path)
            else:
                found.setdefault(name, path)
    return found, strange


def in_order(names: dict[SegmentName, Path]) -> Iterator[tuple[SegmentName, Path]]:
    """Return segments by gateway, then as the gateway numbered them."""
    return iter(
        sorted(names.items(), key=lambda item: (item[0].gateway, item[0].segment, str(item[0])))
    )


def stretch_of(name: SegmentName, path: Path) -> Stretch:
    """Return a segment's events. Raises `DamagedSegment`, `OSError`."""
    try:
        segment = load_segment(path)
    except FileNotFoundError:
        # The uploader has just moved it on.
        sealed = path.parent if path.parent.name == "sealed" else path.parent.parent
        segment = load_segment(path_of(sealed.parent / "sent", name))
    previous = segment.header.get("previous_sha256")
    return Stretch(
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
