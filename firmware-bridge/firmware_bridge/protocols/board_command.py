"""Commands that boards know, and the codes with which they answer (docs/formats/board-frame.md)."""

from enum import IntEnum
from typing import Final


class BoardCommand(IntEnum):
    """Commands for boards. Topics have the names in lower case."""

    SET_INTERVAL = 1
    IDENTIFY = 2


class AnswerCode(IntEnum):
    """Results of commands. A board may answer with a number that is not listed."""

    DONE = 0
    UNKNOWN_COMMAND = 1
    BAD_ARGUMENT = 2


ARGUMENT_MS_MAX: Final = 86_400_000
"""Both arguments are times in milliseconds, from 1; a day is longer than any board's interval."""


def command_of(name: str) -> BoardCommand | None:
    """Return the command of this name, as topics have it."""
    return next((each for each in BoardCommand if each.name.lower() == name), None)


def argument_of(payload: bytes) -> int | None:
    """Read an argument: a decimal integer of ASCII digits, 1 to ARGUMENT_MS_MAX."""
    if not 1 <= len(payload) <= len(str(ARGUMENT_MS_MAX)) or not payload.isdigit():
        return None
    argument = int(payload)
    return argument if 1 <= argument <= ARGUMENT_MS_MAX else None
