"""The client of a control socket: one connection, one request at a time.

Of every failure the caller gets an exception within a stated time, whatever the other side sends or
does not send: OSError (TimeoutError among them) and EOFError where no broker answers,
`messages.UnusableAnswer` where something else does, `messages.Refused` where the broker refuses.
"""

import asyncio
import socket
from pathlib import Path
from typing import Any

from gateway.control.messages import (
    LINE_BYTES_MAX,
    Request,
    UnusableAnswer,
    line_of,
    result_of,
)


class ControlClient:
    """A connection that is kept open, and replaced after any failure but a refusal. Of one event
    loop."""

    def __init__(self, path: Path, answer_seconds_max: float) -> None:
        self._path = path
        self._answer_seconds_max = answer_seconds_max
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, request: Request) -> dict[str, Any]:
        """Send a request and return its result, over the connection there is or a new one."""
        return await self._request(line_of(request), may_repeat=False)

    async def read(self, request: Request) -> dict[str, Any]:
        """Send as `request` does, for one that changes nothing.

        It is sent again over a new connection where the one that was kept has ended, as at a
        broker's restart.
        """
        return await self._request(line_of(request), may_repeat=True)

    def close(self) -> None:
        """Close the connection; a later request opens a new one."""
        if self._streams is not None:
            # No request is under way, so that nothing is lost that waits to be sent.
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
                # An answer that comes too late would be taken for the answer to the next request.
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
    """Send one request over a connection of its own and return its result, without an event loop.

    Raises as `ControlClient.request`, and ValueError for a request that is too long.
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
