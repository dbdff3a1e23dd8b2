"""The control socket: one JSON object a line, for the API, the tools and our other processes.

docs/formats/control-socket.md is the contract. Who may connect is decided by the file's mode.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable
from heapq import nsmallest
from pathlib import Path
from typing import Any

from gateway.access.passwords import PasswordFileError
from gateway.configuration import ConfigurationError
from gateway.server.shell import Shell
from gateway.server.status import session_detail_of, session_of

logger = logging.getLogger(__name__)

LINE_BYTES_MAX = 1024 * 1024
"""Longest request: a report fits, and a client that sends none cannot fill the memory."""

ANSWER_BYTES_MAX = LINE_BYTES_MAX - 64 * 1024
"""Sessions listed in one answer, in bytes: the contract's longest line less its frame."""

REPORT_BYTES_MAX = 64 * 1024
CONNECTIONS_MAX = 64
SESSIONS_LISTED_MAX = 1_000
SOURCES = ("bridge", "uploader")
OBSERVABLE = ("serial_port_found", "serial_port_lost")

Request = dict[str, Any]
Answer = dict[str, Any]


class Refused(Exception):
    """A request that cannot be answered: its code and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Control:
    """Answers requests."""

    def __init__(
        self,
        shell: Shell,
        status: Callable[[], Awaitable[Answer]],
        reload: Callable[[], dict[str, Any]],
    ) -> None:
        self._shell = shell
        self._status = status
        self._reload = reload
        self._reports: dict[str, dict[str, Any]] = {}
        self._connections: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._commands: dict[str, Callable[[Request], Answer | Awaitable[Answer]]] = {
            "status": lambda _: self._status(),
            "sessions": self._sessions,
            "session": self._session,
            "kick": self._kick,
            "drop": self._drop,
            "reload": lambda _: self._reload(),
            "report": self._report,
            "reports": self._all_reports,
            "observe": self._observe,
            "exported": self._exported,
        }

    async def start(self, path: Path) -> None:
        """Listen. A socket file that a killed broker left is replaced: we hold its directory."""
        _remove(path)
        before = os.umask(0o117)  # the file is 0660 from its first moment
        try:
            self._server = await asyncio.start_unix_server(self._serve, path, limit=LINE_BYTES_MAX)
        finally:
            os.umask(before)

    async def stop(self, path: Path) -> None:
        """Stop listening and let go of those who are connected."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._connections):
            writer.close()
        _remove(path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            writer.close()
            return
        self._connections.add(writer)
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        except ValueError:
            refusal = _refusal("bad_request", f"a line of more than {LINE_BYTES_MAX} bytes")
            writer.write(json.dumps(refusal).encode() + b"\n")
        except (ConnectionError, asyncio.CancelledError):
            logger.debug("a control connection ended early")
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            return _refusal("bad_request", f"not a JSON object: {error}")
        if not isinstance(request, dict):
            return _refusal("bad_request", "a request is a JSON object")
        command = self._commands.get(str(request.get("command")))
        if command is None:
            known = ", ".join(sorted(self._commands))
            return _refusal("unknown_command", f"'command' has to be one of {known}")
        try:
            result = command(request)
            if isinstance(result, Awaitable):
                result = await result
            return {"ok": True, "result": result}
        except Refused as refused:
            return _refusal(refused.code, str(refused))
        except (ConfigurationError, PasswordFileError) as error:
            return _refusal("failed", f"the configuration stays as it was: {error}")

    # -- sessions

    def _sessions(self, request: Request) -> dict[str, Any]:
        limit = request.get("limit", 100)
        if not isinstance(limit, int) or not 1 <= limit <= SESSIONS_LISTED_MAX:
            raise Refused("bad_request", f"'limit' has to be 1 to {SESSIONS_LISTED_MAX}")
        after = _text(request, "after", "")
        sessions = self._shell.broker.state.sessions
        # One more than is shown: it tells whether there are more.
        names = nsmallest(limit + 1, (name for name in sessions if name > after))
        shown: list[dict[str, Any]] = []
        size_bytes = 0
        for name in names[:limit]:
            session = session_of(sessions[name])
            size_bytes += len(json.dumps(session))
            if size_bytes > ANSWER_BYTES_MAX:
                break
            shown.append(session)
        complete = len(shown) == len(names)
        return {"sessions": shown, "next": None if complete else shown[-1]["client_id"]}

    def _session(self, request: Request) -> dict[str, Any]:
        return session_detail_of(self._find(request))

    def _find(self, request: Request) -> Any:
        client_id = _text(request, "client_id")
        session = self._shell.broker.state.sessions.get(client_id)
        if session is None:
            raise Refused("not_found", f"no session for client id {client_id[:200]!r}")
        return session

    def _kick(self, request: Request) -> dict[str, Any]:
        session = self._find(request)
        if session.connection is None:
            raise Refused("not_found", f"{session.client_id[:200]!r} is not connected")
        now = asyncio.get_running_loop().time()
        self._shell.broker.lose(session.connection, "kicked", now)
        self._shell.schedule()
        return {"kicked": True}

    def _drop(self, request: Request) -> dict[str, Any]:
        session = self._find(request)
        self._shell.broker.drop_session(session, asyncio.get_running_loop().time())
        self._shell.schedule()
        return {"dropped": True}

    # -- our other processes

    def _report(self, request: Request) -> dict[str, Any]:
        source, status = request.get("source"), request.get("status")
        if source not in SOURCES or not isinstance(status, dict):
            raise Refused("bad_request", f"'source' is one of {SOURCES}, 'status' an object")
        if len(json.dumps(status)) > REPORT_BYTES_MAX:
            raise Refused("bad_request", f"'status' has at most {REPORT_BYTES_MAX} bytes")
        self._reports[source] = {
            "time_ms": self._shell.wall_clock.time_ms(),
            "at": time.monotonic(),
            "status": status,
        }
        return {}

    def _all_reports(self, _: Request) -> dict[str, Any]:
        now = time.monotonic()
        return {
            source: {
                "time_ms": report["time_ms"],
                "age_seconds": round(now - report["at"], 3),
                "status": report["status"],
            }
            for source, report in self._reports.items()
        }

    def _observe(self, request: Request) -> dict[str, Any]:
        event = request.get("event")
        if event not in OBSERVABLE:
            raise Refused("bad_request", f"'event' has to be one of {OBSERVABLE}")
        port, detail = _text(request, "port"), _text(request, "detail", "")
        self._shell.broker.recorder.observed(None, event, port, detail)
        self._shell.schedule()
        return {}

    def _exported(self, request: Request) -> dict[str, Any]:
        sequence = request.get("sequence")
        last = self._shell.broker.recorder.next_sequence - 1
        if not isinstance(sequence, int) or not 0 <= sequence <= last:
            raise Refused("bad_request", f"'sequence' has to be 0 to {last}")
        self._shell.committer.exported(sequence)
        return {}


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        # On a disk that has become read-only; the next start takes the place of a dead socket.
        logger.warning("the control socket stays behind: %s", error)


def _text(request: Request, key: str, default: str | None = None) -> str:
    value = request.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise Refused("bad_request", f"'{key}' has to be a string")
    return value


def _refusal(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": message}}
