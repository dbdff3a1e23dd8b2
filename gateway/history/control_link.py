"""The uploader's line to the broker: its status once a second, and what the journal may drop.

The broker may be absent, restarting or another one: this end keeps trying and holds nobody up.

`exported` lets the broker drop events for ever, so it is said only after events of the broker's
present boot have been sealed. A boot's id is random: having it proves that the segments were
written from this broker's own database and not from one that it has replaced since.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import orjson

from gateway.history.chain import Head
from gateway.history.settings import ANSWER_BYTES_MAX, ANSWER_SECONDS_MAX, REPORT_SECONDS
from gateway.history.trouble import Trouble
from gateway.history.waiting import either_within, happened_within

_log = logging.getLogger(__name__)

Record = dict[str, object]


class ControlError(Exception):
    """The broker's answer was a refusal, or no answer that the contract knows."""


class ControlLink:
    def __init__(
        self, socket: Path, *, status: Callable[[], Record], on_broker: Callable[[], None]
    ) -> None:
        self._socket = socket
        self._status = status
        self._on_broker = on_broker
        self._head: Head | None = None
        self._told: Head | None = None
        self._boot: str | None = None
        self._news = asyncio.Event()
        self._refusal = Trouble("reporting to the broker")

    def sealed(self, head: Head) -> None:
        """This is the newest sealed segment."""
        self._head = head
        self._news.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Connect, talk, connect again, until ``stop``; then say the last news."""
        while not stop.is_set():
            try:
                await self._talk(stop)
            except (OSError, EOFError, TimeoutError, ControlError) as problem:
                # An absent broker is no trouble of this process: its own unit says so.
                if isinstance(problem, ControlError):
                    self._refusal.begin(str(problem), "refusal")
                await happened_within(stop, REPORT_SECONDS)

    async def _talk(self, stop: asyncio.Event) -> None:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            reader, writer = await asyncio.open_unix_connection(
                self._socket, limit=ANSWER_BYTES_MAX
            )
        try:
            connection = _Connection(reader, writer)
            boot = (await connection.ask({"command": "status"})).get("boot")
            self._boot = boot if isinstance(boot, str) else None
            self._told = None
            self._on_broker()
            while True:
                is_last = stop.is_set()
                await self._say_all(connection)
                if is_last:
                    return
                await either_within(self._news, stop, REPORT_SECONDS)
        finally:
            writer.close()

    async def _say_all(self, connection: _Connection) -> None:
        self._news.clear()
        head = self._head
        if head is not None and head != self._told and head.boot == self._boot:
            await connection.ask(
                {
                    "command": "exported",
                    "sequence": head.last_sequence,
                    "segment": head.segment,
                    "sha256": head.sha256,
                }
            )
            self._told = head
        await connection.ask({"command": "report", "source": "uploader", "status": self._status()})
        self._refusal.end()


class _Connection:
    """One request, one answer, in order."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, request: Record) -> Record:
        """The result. Raises `ControlError`, `OSError`, `EOFError`, `TimeoutError`."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            self._writer.write(orjson.dumps(request, option=orjson.OPT_APPEND_NEWLINE))
            await self._writer.drain()
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as problem:
                raise ControlError(
                    f"the answer to {request['command']} is longer than {ANSWER_BYTES_MAX} bytes"
                ) from problem
        return _result_of(str(request["command"]), line)


def _result_of(command: str, line: bytes) -> Record:
    try:
        answer = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise ControlError(f"the answer to {command} is no JSON: {problem}") from problem
    if not isinstance(answer, dict):
        raise ControlError(f"the answer to {command} is no JSON object")
    result = answer.get("result")
    if answer.get("ok") is True and isinstance(result, dict):
        return result
    error = answer.get("error")
    message = error.get("message") if isinstance(error, dict) else answer
    raise ControlError(f"the broker refused {command}: {str(message)[:300]}")
