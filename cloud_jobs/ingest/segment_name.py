"""Parses the file name of a segment, which states the segment's properties."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

NAME_PATTERN: Final = (
    r"^([a-z0-9-]{1,64}(?:_[a-z0-9-]{1,32})?)\.([0-9a-f]{16})\.([0-9]{8})\.([0-9]{12})-([0-9]{12})"
    r"\.([0-9a-f]{64})\.jsonl\.zst$"
)
_NAME: Final = re.compile(NAME_PATTERN.replace("$", r"\Z"), re.ASCII)


@dataclass(frozen=True, slots=True)
class SegmentName:
    """Properties of a segment, as claimed by its file name."""

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


def name_of(text: str) -> SegmentName | None:
    """Parse a file name. Return None if it is not the name of a segment."""
    match = _NAME.match(text)
    if match is None:
        return None
    gateway, boot, segment, first, last, sha256 = match.groups()
    return SegmentName(gateway, boot, int(segment), int(first), int(last), sha256)
