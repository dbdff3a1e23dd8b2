"""A persistent connection to the broker's status socket.

Only one request is in progress at a time. A request waits until earlier requests are complete.
After that, it takes at most ``ANSWER_SECONDS_MAX``. If the broker gives no usable response, a
``BrokerProblem`` with the cause and the fix is raised. If the connection breaks, the next request
opens a new one. The module ``observer`` interprets the responses.
"""

import asyncio
import time
from pathlib import Path
from typing import Any, Final

from api import limits
from gateway.process.control.client import ControlClient
from gateway.process.control.messages import Refused, Request, UnusableAnswer
from gateway.process.files.disk_errors import line_of

_SEE_THE_LOG: Final = (
    "Start it with `oncegate broker` (or `oncegate up` for the whole gateway). On a device systemd "
    "starts it again by itself: `journalctl -b -p warning` shows why it stopped."
)


class BrokerProblem(Exception):
    """Error that is raised if the broker gave no usable response.

    ``reason`` is a sentence about the cause, and ``fix`` describes how to fix the problem.
    ``status_code`` is the HTTP status code of the response to the visitor.
    """

    def __init__(self, reason: str, fix: str, status_code: int = 503) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
        self.status_code = status_code

    def again(self) -> "BrokerProblem":
        """Return a copy of the exception.

        If several callers wait for the same request, each of them must raise its own exception
        object.
        """
        return BrokerProblem(self.reason, self.fix, self.status_code)


class ControlSocket:
    """A client of the broker's Unix socket at ``path``. Use it from one event loop."""

    def __init__(
        self, path: Path, *, answer_seconds_max: float = limits.ANSWER_SECONDS_MAX
    ) -> None:
        self._path = path
        self._answer_seconds_max = answer_seconds_max
        self._client = ControlClient(path, answer_seconds_max)
        self._turn = asyncio.Lock()
        self._problem: BrokerProblem | None = None
        self._problem_until = 0.0

    async def request(self, command: Request) -> dict[str, Any]:
        """Send a command and return the ``result`` of the broker's response.

        Raises:
            BrokerProblem: the broker gave no usable response.
            Refused: the broker responded with an error.
        """
        async with self._turn:
            if self._problem is not None and time.monotonic() < self._problem_until:
                raise self._problem.again()
            try:
                # All requests over this socket only read, so each may be repeated.
                result = await self._client.read(command)
            except Refused:
                self._problem = None
                raise
            except (OSError, EOFError, UnusableAnswer) as error:
                problem = problem_of(error, self._path, self._answer_seconds_max)
                raise self._remembered(problem) from error
            self._problem = None
            return result

    def close(self) -> None:
        """Close the connection. A later request opens a new connection."""
        self._client.close()

    def _remembered(self, problem: BrokerProblem) -> BrokerProblem:
        # One unreadable response (a page of sessions with extremely long names) does not affect
        # the responses to other requests.
        if problem.status_code == 503:
            self._problem = problem
            self._problem_until = time.monotonic() + limits.RETRY_SECONDS
        return problem


def problem_of(
    error: OSError | EOFError | UnusableAnswer, path: Path, answer_seconds_max: float
) -> BrokerProblem:
    """Convert an error on the broker's socket to a BrokerProblem with the cause and the fix."""
    match error:
        case UnusableAnswer():
            return BrokerProblem(
                f"The broker's answer cannot be read: {error}.",
                "The broker and this page are probably of different versions: restart both "
                "after an update.",
                status_code=502,
            )
        case TimeoutError():
            return BrokerProblem(
                f"The broker did not answer within {answer_seconds_max:g} seconds.",
                "It may be waiting for a slow or full disk: look at `df` and `dmesg`. If it "
                "stays like this, restart the broker; what it acknowledged is safe.",
            )
        case FileNotFoundError():
            return BrokerProblem(
                f"The broker is not running: there is no status socket {path}.",
                f"{_SEE_THE_LOG} If it runs, both must be given the same "
                "`[gateway] data_dir` and `control_dir`.",
            )
        case PermissionError():
            return BrokerProblem(
                f"This page may not open the broker's status socket {path}.",
                "Run it as the broker's user, or add its user to the socket's group: "
                "`[gateway] status_group`.",
            )
        case ConnectionError() | EOFError():
            return BrokerProblem(
                "The broker is not running: its status socket is there and no process answers.",
                _SEE_THE_LOG,
            )
        case _:
            return BrokerProblem(
                f"The broker's status socket {path} cannot be used: {line_of(error)}.",
                "Choose another `[gateway] control_dir` (a socket's path has at most 107 bytes).",
            )
