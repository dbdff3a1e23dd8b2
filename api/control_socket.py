"""One connection to the broker's status socket, kept open, asked one question at a time.

Promise: ``request`` gives the broker's result or raises one ``BrokerProblem`` that says what
happened and what mends it, within ``ANSWER_SECONDS_MAX`` of its turn, whatever the other side sends
or fails to send. A connection that broke is replaced at the next question. What a result means is
left to ``observer``.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from api import limits
from api.received_json import value_of_json

_LOOK_AT_THE_LOG: Final = (
    "Start it with `oncegate broker` (or `oncegate up` for the whole gateway). On a device systemd "
    "starts it again by itself: `journalctl -b -p warning` says why it stopped."
)


class BrokerProblem(Exception):
    """The broker gave no usable answer.

    ``status_code`` is what HTTP calls that; ``mend`` says what a person can do about it.
    """

    def __init__(self, reason: str, mend: str, status_code: int = 503) -> None:
        super().__init__(reason)
        self.reason = reason
        self.mend = mend
        self.status_code = status_code

    def again(self) -> "BrokerProblem":
        """The same problem for another asker (a raised exception belongs to one of them)."""
        return BrokerProblem(self.reason, self.mend, self.status_code)


class RequestRefused(Exception):
    """The broker understood the question and said no: ``code`` and ``message`` are its own."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class _Unintelligible(Exception):
    """The answer is not what the contract says."""


class ControlSocket:
    """A client of ``path``. Belongs to one event loop."""

    def __init__(
        self, path: Path, *, answer_seconds_max: float = limits.ANSWER_SECONDS_MAX
    ) -> None:
        self._path = path
        self._answer_seconds_max = answer_seconds_max
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._problem: BrokerProblem | None = None
        self._problem_until = 0.0

    async def request(self, command: Mapping[str, object]) -> dict[str, object]:
        """Send one command and return its ``result``.

        Raises BrokerProblem, or RequestRefused where the broker answered with an error.
        """
        line = json.dumps(command).encode("ascii") + b"\n"
        async with self._turn:
            if self._problem is not None and time.monotonic() < self._problem_until:
                raise self._problem.again()
            try:
                answer = _answer_of(await self._exchange_in_time(line))
            except (OSError, EOFError, _Unintelligible) as error:
                self._disconnect()
                raise self._remembered(self._problem_of(error)) from error
            self._problem = None
        if isinstance(answer, RequestRefused):
            raise answer
        return answer

    def close(self) -> None:
        """Close the connection; a later request opens a new one."""
        self._disconnect()

    async def _exchange_in_time(self, line: bytes) -> bytes:
        finished = False
        try:
            async with asyncio.timeout(self._answer_seconds_max):
                answer = await self._exchange(line)
            finished = True
            return answer
        finally:
            # An answer that nobody waited for would be taken for the answer to the next question.
            if not finished:
                self._disconnect()

    async def _exchange(self, line: bytes) -> bytes:
        if self._streams is not None:
            try:
                return await _ask(self._streams, line)
            except (ConnectionError, EOFError):
                # The broker was restarted since the last question. To ask again changes nothing:
                # this room only asks questions.
                self._disconnect()
        self._streams = await asyncio.open_unix_connection(self._path, limit=limits.LINE_BYTES_MAX)
        return await _ask(self._streams, line)

    def _remembered(self, problem: BrokerProblem) -> BrokerProblem:
        # One answer that cannot be read (a page of sessions with monstrous names) says nothing
        # about the answers to other questions.
        if problem.status_code == 503:
            self._problem = problem
            self._problem_until = time.monotonic() + limits.RETRY_SECONDS
        return problem

    def _disconnect(self) -> None:
        if self._streams is not None:
            # Nothing is waiting to be sent that the broker would have to see.
            self._streams[1].transport.abort()
            self._streams = None

    def _problem_of(self, error: OSError | EOFError | _Unintelligible) -> BrokerProblem:
        match error:
            case _Unintelligible():
                return BrokerProblem(
                    f"The broker's answer cannot be read: {error}.",
                    "The broker and this page are probably of different versions: restart both "
                    "after an update.",
                    status_code=502,
                )
            case TimeoutError():
                return BrokerProblem(
                    f"The broker did not answer within {self._answer_seconds_max:g} seconds.",
                    "It may be waiting for a slow or full disk: look at `df` and `dmesg`. If it "
                    "stays like this, restart the broker; what it acknowledged is safe.",
                )
            case FileNotFoundError():
                return BrokerProblem(
                    f"The broker is not running: there is no status socket {self._path}.",
                    f"{_LOOK_AT_THE_LOG} If it runs, both must be told the same "
                    "`[gateway] data_dir` and `control_dir`.",
                )
            case PermissionError():
                return BrokerProblem(
                    f"This page may not open the broker's status socket {self._path}.",
                    "Run it as the broker's user, or add its user to the socket's group: "
                    "`[gateway] status_group`.",
                )
            case ConnectionError() | EOFError():
                return BrokerProblem(
                    "The broker is not running: its status socket is there and nobody answers.",
                    _LOOK_AT_THE_LOG,
                )
            case _:
                return BrokerProblem(
                    f"The broker's status socket {self._path} cannot be used: {error}.",
                    "Choose another `[gateway] control_dir` (a socket's path has at most 107 "
                    "bytes).",
                )


async def _ask(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], line: bytes) -> bytes:
    reader, writer = streams
    writer.write(line)
    await writer.drain()
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError as error:
        raise _Unintelligible(f"a line of more than {limits.LINE_BYTES_MAX:,} bytes") from error


def _answer_of(line: bytes) -> dict[str, object] | RequestRefused:
    try:
        answer = value_of_json(line)
    except (ValueError, RecursionError) as error:
        raise _Unintelligible("it is not JSON") from error
    match answer:
        case {"ok": True, "result": dict(result)}:
            return result
        case {"ok": False, "error": {"code": str(code), "message": str(message)}}:
            return RequestRefused(code, message)
    raise _Unintelligible("it has neither a result nor an error")
