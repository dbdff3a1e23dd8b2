"""Commands for sensor boards, and the result codes in the boards' answers.

docs/formats/board-frame.md describes both.
"""

from enum import IntEnum
from typing import Final


class BoardCommand(IntEnum):
    """A command for a board. MQTT topics contain the name of the command in lower case."""

    SET_INTERVAL = 1
    IDENTIFY = 2


class AnswerCode(IntEnum):
    """Result code in a board's answer to a command. Boards may also send other codes."""

    DONE = 0
    UNKNOWN_COMMAND = 1
    BAD_ARGUMENT = 2


ARGUMENT_MS_MAX: Final = 86_400_000
"""Maximum argument of a command, in milliseconds. Each command takes a time of 1 ms or more. One
day is longer than the interval of any board.
"""


def command_of(name: str) -> BoardCommand | None:
    """Return the command that has this name in MQTT topics, or None for an unknown name."""
    return next((each for each in BoardCommand if each.name.lower() == name), None)


def argument_of(payload: bytes) -> int | None:
    """Parse the argument of a command: a time in milliseconds, from 1 to `ARGUMENT_MS_MAX`.

    Return None if the payload is not a decimal number in this range.
    """
    if not 1 <= len(payload) <= len(str(ARGUMENT_MS_MAX)) or not payload.isdigit():
        return None
    argument = int(payload)
    return argument if 1 <= argument <= ARGUMENT_MS_MAX else None
