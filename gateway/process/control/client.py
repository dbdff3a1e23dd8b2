"""A client for the broker's control sockets. It sends one request at a time over one connection.

OSError and EOFError mean that the broker did not respond. For example, TimeoutError (an OSError) is
raised if there is no response within a time limit. UnusableAnswer means that the response was
invalid, and Refused means that the broker refused the request.
"""

import asyncio
import socket
from pathlib import Path
from typing import Any

from gateway.process.control.messages import (
    LINE_BYTES_MAX,
    Request,
    UnusableAnswer,
    line_of,
    result_of,
)


class ControlClient:
    """A control socket client that keeps one connection open, and reconnects after a failure.

    A request that the broker refuses is not a failure. The methods must always be called in the
    same event loop.
    """

    def __init__(self, path: Path, answer_seconds_max: float) -> None:
        self._path = path
        self._answer_seconds_max = answer_seconds_max
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, request: Request) -> dict[str, Any]:
        """Send a request and return its result.

        The request is sent over the open connection. If no connection is open, a new one is opened.
        A failed request is never repeated.
        """
        return await self._request(line_of(request), may_repeat=False)

    async def read(self, request: Request) -> dict[str, Any]:
        """Send a read-only request and return its result.

        If the open connection turns out to be lost, for example because the broker was restarted,
        the request is repeated over a new connection.
        """
        return await self._request(line_of(request), may_repeat=True)

    def close(self) -> None:
        """Close the connection. A later request opens a new connection."""
        if self._streams is not None:
            # No request is running, so nothing unsent is lost.
            self._streams[1].transport.abort()
            self._streams = None

    async def _request(self, line: bytes, *, may_repeat: bool) -> dict[str, Any]:
        async with self._turn:
            finished = False
            try:
                async with asyncio.timeout(self._answer_seconds_max):
                    answer = await self._exchange(line, may_repeat=may_repeat)
                finished = True
            finally:
                # A late response would be mistaken for the response to the next request.
                if not finished:
                    self.close()
            try:
                return result_of(answer)
            except UnusableAnswer:
                self.close()
                raise

    async def _exchange(self, line: bytes, *, may_repeat: bool) -> bytes:
        if self._streams is not None:
            try:
                return await _answer_to(line, *self._streams)
            except (ConnectionError, EOFError):
                if not may_repeat:
                    raise
                self.close()
        self._streams = await asyncio.open_unix_connection(self._path, limit=LINE_BYTES_MAX)
        return await _answer_to(line, *self._streams)


async def _answer_to(
    line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bytes:
    writer.write(line)
    await writer.drain()
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError as error:
        raise UnusableAnswer(f"a line of more than {LINE_BYTES_MAX:,} bytes") from error


def ask(path: Path, answer_seconds_max: float, request: Request) -> dict[str, Any]:
    """Send one request to the control socket at `path`, and return its result.

    The request uses its own connection and needs no event loop. `answer_seconds_max` is the timeout
    for sending and receiving.

    Raises OSError if no broker responds, UnusableAnswer if the response is invalid, Refused if the
    broker refuses the request, and ValueError if the request is too long.
    """
    line = line_of(request)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(answer_seconds_max)
        connection.connect(str(path))
        connection.sendall(line)
        answer = connection.makefile("rb").readline(LINE_BYTES_MAX + 1)
    if not answer.endswith(b"\n"):
        raise UnusableAnswer("it is not a line")
    return result_of(answer)
