"""Sends commands to boards over their serial lines, and reports the boards' responses.

A command can, for example, change the interval between measurements. Each command is sent only
once. Commands are not stored or retried, because a delayed command might be outdated. If a command
fails, the client gets an error and can send the command again.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from firmware_bridge.protocols.board_command import (
    AnswerCode,
    argument_of,
    command_of,
)
from firmware_bridge.protocols.board_frame import command_bytes_of
from firmware_bridge.readings.numbering import BoardIdentity

ANSWER_SECONDS_MAX: Final = 5.0
"""Timeout for a board's response. While a board measures, it may not read its line for seconds."""
OPEN_MAX: Final = 64
"""Largest number of commands that are waiting for a response, for all boards together."""
BOARDS_MAX: Final = 1024
"""Largest number of boards whose line is remembered. The outbox accepts the same number."""
_NUMBERS = 2**32

Answer = Callable[[dict[str, str]], None]
"""Callback that receives the result: `{"result": "done"}` or `{"error": CODE}`."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A board's latest identity, and a function that writes to the board's serial line."""

    identity: BoardIdentity
    write: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class _Open:
    answer: Answer
    write: Callable[[bytes], bool]
    timer: asyncio.TimerHandle


class Commands:
    """The commands that boards have not answered yet. Their number is limited."""

    def __init__(self, answer_seconds_max: float = ANSWER_SECONDS_MAX) -> None:
        self._answer_seconds_max = answer_seconds_max
        self._places: dict[str, _Place] = {}
        self._open: dict[BoardIdentity, _Open] = {}
        # A late answer to an earlier run of the bridge must not match a request of this one.
        self._request = secrets.randbelow(_NUMBERS)

    def note_board(self, identity: BoardIdentity, write: Callable[[bytes], bool]) -> None:
        """Record the identity and the serial line of a board that has sent a frame."""
        self._places.pop(identity.device_name, None)
        self._places[identity.device_name] = _Place(identity, write)
        if len(self._places) > BOARDS_MAX:
            del self._places[next(iter(self._places))]

    def carry_out(self, device: str, name: str, payload: bytes, answer: Answer) -> None:
        """Send the command `name` to a board, and report its result to `answer`.

        `payload` is the argument of the command. `answer` is called exactly once, possibly before
        this method returns.
        """
        if (command := command_of(name)) is None:
            return answer({"error": "unknown_command"})
        if (argument := argument_of(payload)) is None:
            return answer({"error": "bad_argument"})
        if (place := self._places.get(device)) is None:
            return answer({"error": "away"})
        if len(self._open) >= OPEN_MAX:
            return answer({"error": "busy"})
        self._request = self._request % (_NUMBERS - 1) + 1
        identity = BoardIdentity(place.identity.device, place.identity.boot, self._request)
        if not place.write(command_bytes_of(identity, command, argument)):
            return answer({"error": "away"})
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._answer_seconds_max, self._time_out, identity)
        self._open[identity] = _Open(answer, place.write, timer)
        return None

    def receive_answer(
        self, identity: BoardIdentity, code: int, write: Callable[[bytes], bool]
    ) -> None:
        """Report a board's response to the client that sent the command.

        `write` writes to the line on which the response arrived. A response is ignored if it does
        not belong to a command that was sent over this line.
        """
        waiting = self._open.get(identity)
        if waiting is None or waiting.write != write:
            return
        del self._open[identity]
        waiting.timer.cancel()
        if code == AnswerCode.DONE:
            waiting.answer({"result": "done"})
        elif code in list(AnswerCode):
            waiting.answer({"error": AnswerCode(code).name.lower()})
        else:
            waiting.answer({"error": f"code_{code}"})

    def _time_out(self, identity: BoardIdentity) -> None:
        self._open.pop(identity).answer({"error": "no_answer"})
