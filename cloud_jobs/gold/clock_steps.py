"""Errors of a gateway's clock in segments that were written while the clock was unsynchronised.

A gateway without a battery starts with a wrong time. When a time server responds, the clock is set
to the right time in one or more steps. The error of an earlier event's time is the sum of the steps
between the event and the first synchronised segment. If the clock loses its synchronisation later,
the error of a later event's time is the sum of the steps since then. If events between the two are
missing, steps may be missing too, so the error is unknown.
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
    """A segment: name, first and last sequence number, and whether its clock was synchronised."""

    name: str
    first: int
    last: int
    clock: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the clock. From event `sequence` on, the times are later by `milliseconds`."""

    sequence: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Correction:
    """Correction for the times of events `first` to `last` in a segment.

    `milliseconds` has to be added to the times. It is None if the correction is unknown.
    """

    name: str
    first: int
    last: int
    milliseconds: int | None


def corrections_of(stretches: Iterable[Stretch], steps: Iterable[Step]) -> list[Correction]:
    """Return the corrections for all unsynchronised segments that one run of a broker wrote."""
    in_order = sorted(steps, key=lambda step: step.sequence)
    found: list[Correction] = []
    for run in _contiguous(stretches):
        known = [stretch.first for stretch in run if stretch.clock == SYNCHRONISED]
        for stretch in run:
            if stretch.clock != SYNCHRONISED:
                found += _corrections_of(stretch, known[0] if known else None, in_order)
    return found


def _contiguous(stretches: Iterable[Stretch]) -> Iterator[list[Stretch]]:
    """Group segments of one run of a broker. A new group begins wherever events are missing."""
    run: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda one: (one.first, one.last)):
        if run and stretch.first > max(one.last for one in run[-2:]) + 1:
            yield run
            run = []
        run.append(stretch)
    if run:
        yield run


def _corrections_of(stretch: Stretch, reference: int | None, steps: list[Step]) -> list[Correction]:
    """Split a segment at the steps of its clock, and return a correction for each piece.

    `reference` is the sequence number of an event with the right time, or None if there is none.
    """
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
    """Return the correction in milliseconds for the time of the event `sequence`.

    The event `reference` has the right time. The correction is the sum of the clock steps between
    the two events. If the event `sequence` is the later one, the sum is negated.
    """
    if sequence <= reference:
        return sum(s.milliseconds for s in steps if sequence < s.sequence <= reference)
    return -sum(s.milliseconds for s in steps if reference < s.sequence <= sequence)
