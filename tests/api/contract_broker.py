"""A small real server of the control socket: answers with the contract's words, or misbehaves.

It speaks the peer's protocol over a real Unix socket; nothing of the API is replaced.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from tests.api import recorded

Answer = Callable[[dict[str, Any]], bytes]


def result(value: object) -> bytes:
    return json.dumps({"ok": True, "result": value}).encode() + b"\n"


def refusal(code: str, message: str) -> bytes:
    return json.dumps({"ok": False, "error": {"code": code, "message": message}}).encode() + b"\n"


class ContractBroker:
    """Answers from ``status``, ``reports`` and ``sessions``, which a test may bend.

    ``instead`` answers in place of the contract; ``silent`` never answers at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.status = recorded.status()
        self.reports = recorded.reports()
        self.sessions = recorded.sessions()
        self.requests: list[dict[str, Any]] = []
        self.connections_accepted = 0
        self.instead: Answer | None = None
        self.silent = False
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    def count_of(self, command: str) -> int:
        return sum(request["command"] == command for request in self.requests)

    async def start(self) -> None:
        self._clear_path()
        # A broker that dies removes nothing; from Python 3.13 on asyncio would.
        leaving: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
        self._server = await asyncio.start_unix_server(
            self._serve_connection, self.path, limit=1_048_576, **leaving
        )

    def _clear_path(self) -> None:
        """As every broker at its start: remove what the last one left behind."""
        self.path.unlink(missing_ok=True)

    async def stop(self) -> None:
        """As a broker that dies: the socket's file stays behind."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.close()
        for writer in list(self._writers):
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections_accepted += 1
        self._writers.add(writer)
        try:
            while line := await reader.readline():
                request = json.loads(line)
                self.requests.append(request)
                if self.silent:
                    continue
                writer.write((self.instead or self.answer_of)(request))
                await writer.drain()
        except OSError:
            pass  # the client went away, as clients may
        finally:
            self._writers.discard(writer)
            writer.close()

    def answer_of(self, request: dict[str, Any]) -> bytes:
        match request:
            case {"command": "status"}:
                return result(self.status)
            case {"command": "reports"}:
                return result(self.reports)
            case {"command": "sessions"}:
                return result(self._page(request.get("after"), request.get("limit", 100)))
            case {"command": "session", "client_id": client_id}:
                if any(session["client_id"] == client_id for session in self.sessions):
                    return result(recorded.session_detail(client_id))
                return refusal("not_found", f"no session for client id {client_id!r}")
        return refusal("unknown_command", f"unknown command {request!r}")

    def _page(self, after: str | None, limit: int) -> dict[str, Any]:
        later = [one for one in self.sessions if after is None or one["client_id"] > after]
        page = later[:limit]
        return {"sessions": page, "next": page[-1]["client_id"] if len(later) > limit else None}


@contextlib.asynccontextmanager
async def running_broker(path: Path) -> AsyncIterator[ContractBroker]:
    broker = ContractBroker(path)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()
