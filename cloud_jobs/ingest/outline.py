"""Outline of a staged file: a summary of its messages and readings for the driver.

The outlines of a batch show which files cannot contain a message or a reading twice. Readings from
these files need no join and no sort. An outline also contains the events of incomplete messages: a
`message_held` without its `message_released`, or the reverse. Numbers are stored as ranges, because
successive messages and frames nearly always have consecutive numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cloud_jobs.limits import OUTLINE_CHARACTERS_MAX, OUTLINE_RANGES_MAX

NumberRange = tuple[int, int]
"""The first and the last of consecutive numbers."""


class SingleEvent(NamedTuple):
    """An event `message_held` or `message_released` whose counterpart is not in the same file.

    The contents are None for `message_released`.
    """

    is_held: bool
    message: int
    sequence: int
    time_us: int
    topic: str | None
    payload: str | None
    payload_base64: str | None
    client_id: str | None


class FrameRange(NamedTuple):
    """Consecutive frame numbers that a board used after one of its starts."""

    device: str
    boot: int
    least: int
    greatest: int


class Outline(NamedTuple):
    """Summary of the valid events in a file, for the driver."""

    good: int = 0
    """Number of readings in messages whose delivery is complete in the file."""
    wrong: int = 0
    """Number of rows that represent a refused payload."""
    by_message: int = 0
    """Number of readings in `good` without a frame number of a board."""
    messages: tuple[NumberRange, ...] = ()
    """Numbers of the messages whose delivery is complete in the file."""
    boards: tuple[FrameRange, ...] = ()
    single_events: tuple[SingleEvent, ...] = ()


EMPTY: Final = Outline()


def ranges_of(numbers: Iterable[int]) -> list[NumberRange]:
    """Return distinct numbers as ranges of consecutive numbers, in ascending order."""
    found: list[NumberRange] = []
    ordered = sorted(numbers)
    if ordered and ordered[-1] - ordered[0] == len(ordered) - 1:
        return [(ordered[0], ordered[-1])]
    for number in ordered:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def text_of(outline: Outline) -> str | None:
    """Return an outline as JSON, or None if it is too large for the driver's memory."""
    if len(outline.messages) + len(outline.boards) > OUTLINE_RANGES_MAX:
        return None
    text = json.dumps(outline, separators=(",", ":"))
    return text if len(text) <= OUTLINE_CHARACTERS_MAX else None


def outline_in(text: str | None) -> Outline | None:
    """Parse an outline from the JSON that `text_of` wrote. Return None if `text` is None."""
    if text is None:
        return None
    value: list[Any] = json.loads(text)
    good, wrong, by_message, messages, boards, single_events = value
    return Outline(
        good,
        wrong,
        by_message,
        tuple((least, greatest) for least, greatest in messages),
        tuple(FrameRange(*one) for one in boards),
        tuple(SingleEvent(*one) for one in single_events),
    )
