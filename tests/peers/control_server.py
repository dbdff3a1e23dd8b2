"""The broker's end of the control socket: it stores every request and answers as scripted.

Requests and answers are JSON, one per line (`gateway.process.control.messages`), over a real Unix
socket.
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any, Self

LINE_BYTES_MAX = 1 << 20


def result(value: object) -> bytes:
    """Return the line that answers a request with a result."""
    return json.dumps({"ok": True, "result": value}).encode() + b"\n"


def refusal(code: str, message: str) -> bytes:
    """Return the line that refuses a request."""
    return json.dumps({"ok": False, "error": {"code": code, "message": message}}).encode() + b"\n"


class ControlServer:
    """A control server that listens at `path` inside a `with` block, or from `start` to `stop`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.requests: list[dict[str, Any]] = []
        self.connections_accepted = 0
        self.writers: list[asyncio.StreamWriter] = []
        """The writers of the open connections."""
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Remove the socket that the last broker left, as every broker does, and listen."""
        self.path.unlink(missing_ok=True)
        # A broker that dies does not remove its socket; asyncio would from Python 3.13 on.
        leaving: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
        self._server = await asyncio.start_unix_server(
            self._serve, self.path, limit=LINE_BYTES_MAX, **leaving
        )

    async def stop(self) -> None:
        """Close every connection and the server. The socket's file stays."""
        assert self._server is not None
        self._server.close()
        for writer in list(self.writers):
            writer.close()
        for writer in list(self.writers):
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def of(self, command: str) -> list[dict[str, Any]]:
        """Return the requests with this command."""
        return [request for request in self.requests if request["command"] == command]

    def answer_of(self, request: dict[str, Any]) -> bytes:
        """Return the line that answers a request, or nothing for silence.

        Tests override this script.
        """
        return result({})

    async def received(self) -> None:
        """Called after each answered request, for subclasses."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections_accepted += 1
        self.writers.append(writer)
        try:
            while line := await reader.readline():
                request = json.loads(line)
                self.requests.append(request)
                writer.write(self.answer_of(request))
                await self.received()
                await writer.drain()
        except OSError:
            pass  # The client may disconnect at any time.
        finally:
            self.writers.remove(writer)
            writer.close()
