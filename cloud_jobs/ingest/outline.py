"""Outline of each staged file's messages and readings, small enough for the driver.

By it is known which files of a batch can have nothing of a message or of a reading twice, so that
these files' readings need no join and no sort, and it has the messages of which the file has one
half. Numbers are kept as runs: a message or frame nearly always has the next number
always.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cloud_jobs.limits import OUTLINE_CHARACTERS_MAX, OUTLINE_RUNS_MAX

Run = tuple[int, int]
"""The first and the last of numbers without a gap."""


class Half(NamedTuple):
    """A message_held or message_released whose other half is not in the file."""

    is_held: bool
    message: int
    sequence: int
    time_us: int
    topic: str | None
    payload: str | None
    payload_base64: str | None
    client_id: str | None


class BoardRun(NamedTuple):
    """Frames of one start of a board."""

    device: str
    boot: int
    least: int
    greatest: int


class Outline(NamedTuple):
    """Outline of a file's trusted events."""

    good: int = 0
    """Readings in messages whose delivery is complete in the file."""
    wrong: int = 0
    """Rows that stand for a refused payload."""
    by_message: int = 0
    """Those of `good` that no board has numbered."""
    messages: tuple[Run, ...] = ()
    """Numbers of the messages whose delivery is complete in the file."""
    boards: tuple[BoardRun, ...] = ()
    halves: tuple[Half, ...] = ()


EMPTY: Final = Outline()


def runs_of(numbers: Iterable[int]) -> list[Run]:
    """Return distinct numbers as runs, in order."""
    found: list[Run] = []
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
    """Return an outline as JSON, None where it is too large for the driver to have many."""
    if len(outline.messages) + len(outline.boards) > OUTLINE_RUNS_MAX:
        return None
    text = json.dumps(outline, separators=(",", ":"))
    return text if len(text) <= OUTLINE_CHARACTERS_MAX else None


def outline_in(text: str | None) -> Outline | None:
    """Return what `text_of` has written; None for None."""
    if text is None:
        return None
    value: list[Any] = json.loads(text)
    good, wrong, by_message, messages, boards, halves = value
    return Outline(
        good,
        wrong,
        by_message,
        tuple((least, greatest) for least, greatest in messages),
        tuple(BoardRun(*one) for one in boards),
        tuple(Half(*one) for one in halves),
    )
