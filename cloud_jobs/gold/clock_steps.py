"""Computes corrections for times that a gateway logged while its clock was unsynchronised.

A gateway whose clock has no battery starts with a wrong time. When a time server responds, the
clock is set to the right time in one or more steps. The time of an earlier event is wrong by the
sum of the steps between the event and the first synchronised segment. If the clock loses
synchronisation later, the time of an event is wrong by the sum of the steps between the beginning
of the first synchronised segment and the event. If events are missing in between, steps may be
missing too, and the error is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

SYNCHRONISED: Final = "synchronised"
CORRECTED: Final = "corrected"
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment with its first and last event number, and the state of the clock (`clock`)."""

    name: str
    first: int
    last: int
    clock: str


@dataclass(frozen=True, slots=True)
class Step:
    """A change of the clock by `milliseconds`, which affects the times from event `sequence` on."""

    sequence: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Correction:
    """Correction for the times of the events `first` to `last` in a segment.

    `milliseconds` must be added to the times. It is None if the correction is unknown.
    """

    name: str
    first: int
    last: int
    milliseconds: int | None


def corrections_of(segments: Iterable[Segment], steps: Iterable[Step]) -> list[Correction]:
    """Return the corrections for the unsynchronised segments of a broker run.

    `segments` are all segments of the run, and `steps` are the changes of the clock during it.
    """
    in_order = sorted(steps, key=lambda step: step.sequence)
    found: list[Correction] = []
    for run in _contiguous(segments):
        known = [segment.first for segment in run if segment.clock == SYNCHRONISED]
        for segment in run:
            if segment.clock != SYNCHRONISED:
                found += _corrections_of(segment, known[0] if known else None, in_order)
    return found


def _contiguous(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Group segments of one run of a broker. A new group begins wherever events are missing."""
    run: list[Segment] = []
    for segment in sorted(segments, key=lambda one: (one.first, one.last)):
        if run and segment.first > max(one.last for one in run[-2:]) + 1:
            yield run
            run = []
        run.append(segment)
    if run:
        yield run


def _corrections_of(segment: Segment, reference: int | None, steps: list[Step]) -> list[Correction]:
    """Split a segment at the steps of its clock, and return a correction for each piece.

    `reference` is the sequence number of an event with the right time. If it is None, the
    correction is unknown, and the segment is not split.
    """
    if reference is None:
        return [Correction(segment.name, segment.first, segment.last, None)]
    cuts = [s.sequence for s in steps if segment.first < s.sequence <= segment.last]
    begins = [segment.first, *sorted(set(cuts))]
    ends = [begin - 1 for begin in begins[1:]] + [segment.last]
    return [
        Correction(segment.name, begin, end, _milliseconds(begin, reference, steps))
        for begin, end in zip(begins, ends, strict=True)
    ]


def _milliseconds(sequence: int, reference: int, steps: list[Step]) -> int:
    """Return the correction in milliseconds for the time of the event `sequence`.

    The event `reference` has the right time. The correction is the sum of the clock steps between
    the two events. If the event `sequence` is the later one, the sum is negated.
    """
    if sequence <= reference:
        return sum(s.milliseconds for s in steps if sequence < s.sequence <= reference)
    return -sum(s.milliseconds for s in steps if reference < s.sequence <= sequence)
