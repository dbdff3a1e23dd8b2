"""Error of a start's clock before it was synchronised, segment by segment.

A gateway without a battery begins with a wrong time, which its clock leaves in one step when a time
server answers. What was written before is off by the steps between it and the first synchronised
segment; what was written later by a clock that is not synchronised any more, by the steps since.
Over a gap of the log the steps are not known, and neither is the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

SYNCHRONISED: Final = "synchronised"
CORRECTED: Final = "corrected"
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A segment: its events `first` to `last` (sequences), and its clock as it was written."""

    name: str
    first: int
    last: int
    clock: str


@dataclass(frozen=True, slots=True)
class Step:
    """The clock was set: events from `sequence` on show a time that is `milliseconds` later."""

    sequence: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Correction:
    """Milliseconds to add to the times of the events `first` to `last` of a segment.

    None: it is not known.
    """

    name: str
    first: int
    last: int
    milliseconds: int | None


def corrections_of(stretches: Iterable[Stretch], steps: Iterable[Step]) -> list[Correction]:
    """Return the corrections of one start: of all its segments that were not synchronised."""
    in_order = sorted(steps, key=lambda step: step.sequence)
    found: list[Correction] = []
    for run in _contiguous(stretches):
        known = [stretch.first for stretch in run if stretch.clock == SYNCHRONISED]
        for stretch in run:
            if stretch.clock != SYNCHRONISED:
                found += _of_stretch(stretch, known[0] if known else None, in_order)
    return found


def _contiguous(stretches: Iterable[Stretch]) -> Iterator[list[Stretch]]:
    """Divide the segments where events are missing between them."""
    run: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda one: (one.first, one.last)):
        if run and stretch.first > max(one.last for one in run[-2:]) + 1:
            yield run
            run = []
        run.append(stretch)
    if run:
        yield run


def _of_stretch(stretch: Stretch, reference: int | None, steps: list[Step]) -> list[Correction]:
    """Divide a segment at the steps in it; `reference` is the first synchronised event."""
    if reference is None:
        return [Correction(stretch.name, stretch.first, stretch.last, None)]
    cuts = [s.sequence for s in steps if stretch.first < s.sequence <= stretch.last]
    begins = [stretch.first, *sorted(set(cuts))]
    ends = [begin - 1 for begin in begins[1:]] + [stretch.last]
    return [
        Correction(stretch.name, begin, end, _milliseconds(begin, reference, steps))
        for begin, end in zip(begins, ends, strict=True)
    ]


def _milliseconds(sequence: int, reference: int, steps: list[Step]) -> int:
    """Return how far the time of an event is behind that of the reference's clock."""
    if sequence <= reference:
        return sum(s.milliseconds for s in steps if sequence < s.sequence <= reference)
    return -sum(s.milliseconds for s in steps if reference < s.sequence <= sequence)
