"""The broker's end of the control socket, as far as the uploader talks to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


class Listener:
    """The broker's end of the control socket: keeps every request, answers as it is set."""

    def __init__(self, boot: str) -> None:
        self.boot = boot
        self.requests: list[dict[str, object]] = []
        self.refusal: bytes | None = None
        self.writers: list[asyncio.StreamWriter] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        # A process that is killed in the middle of a talk resets it.
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                writer.write(self._answer_to(json.loads(line)))
        writer.close()

    def _answer_to(self, request: dict[str, object]) -> bytes:
        self.requests.append(request)
        result = {"boot": self.boot} if request["command"] == "status" else {}
        answer = json.dumps({"ok": True, "result": result}).encode() + b"\n"
        return answer if self.refusal is None else self.refusal

    def of(self, command: str) -> list[dict[str, object]]:
        return [request for request in self.requests if request["command"] == command]

    def last_status(self) -> dict[str, object]:
        reports = self.of("report")
        status = reports[-1]["status"] if reports else {}
        assert isinstance(status, dict)
        return status


@asynccontextmanager
async def listening(socket: Path, boot: str) -> AsyncIterator[Listener]:
    listener = Listener(boot)
    server = await asyncio.start_unix_server(listener.talk, socket)
    try:
        yield listener
    finally:
        server.close()
        for writer in listener.writers:
            writer.close()
        await server.wait_closed()
