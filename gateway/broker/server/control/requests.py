"""Dispatches the commands that the API, the tools and other processes send to control sockets.

The commands are documented in docs/formats/control-socket.md.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from gateway.broker.access.errors import AccessFileError
from gateway.broker.core.records.kinds import CloseReason, Observation
from gateway.broker.server.bans import Bans
from gateway.broker.server.control import card_requests
from gateway.broker.server.control.alarms import Alarms
from gateway.broker.server.control.ban_requests import BanRequests
from gateway.broker.server.control.card_requests import CardRequests
from gateway.broker.server.control.events import EventCommands
from gateway.broker.server.control.logins import LoginCommands
from gateway.broker.server.control.machine_requests import DIRECTORY, MachineRequests
from gateway.broker.server.control.operating import OperatorPermissions
from gateway.broker.server.control.operations import REPORTS, Operations, who_of
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.control.sensors import SensorRequests
from gateway.broker.server.control.session_list import SessionCommands
from gateway.broker.server.control.sockets import ControlSocket, refusal_of
from gateway.broker.server.control.token_changes import TokenChanges
from gateway.broker.server.control.topics import TopicCommands
from gateway.broker.server.control.user_changes import UserChanges
from gateway.broker.server.control.user_list import UserListCommands
from gateway.broker.server.event_loop.event_loop import EventLoop
from gateway.configuration import Configuration, ConfigurationError

logger = logging.getLogger(__name__)

REPORT_BYTES_MAX = 64 * 1024
SOURCES = ("bridge", "uploader", "uplink")
READING = frozenset(
    {"status", "sessions", "session", "reports", "bans", "events", "authenticate", "user", "alarms"}
    | {"configuration", "topics", "topic_states"}
)
"""Commands that `status.sock` accepts. They change nothing except the stored alarms."""

OBSERVABLE = {
    each.word: each for each in (Observation.SERIAL_PORT_FOUND, Observation.SERIAL_PORT_LOST)
}

Request = dict[str, Any]
Answer = dict[str, Any]
Command = Callable[[Request], Answer | Awaitable[Answer]]
Permit = Callable[[str, Request], None]
"""A function that raises Refused if a socket does not accept a command."""
Note = Callable[[Request, Answer], None]


class Control:
    """Dispatcher of the requests on all control sockets."""

    def __init__(
        self,
        event_loop: EventLoop,
        status: Callable[[], Awaitable[Answer]],
        reload: Callable[[], dict[str, Any]],
        version_key: bytes,
        bans: Bans,
        configuration: Callable[[], Answer],
    ) -> None:
        """Set the dependencies. `version_key` is the secret key of `LoginCommands`."""
        self._event_loop = event_loop
        self._status = status
        self._reload = reload
        self._reports: dict[str, dict[str, Any]] = {}
        self._alarms = alarms = Alarms()
        self._sessions = SessionCommands(event_loop)
        self._sockets: list[ControlSocket] = []
        self._operate_socket: ControlSocket | None = None
        self._operate_problem: str | None = None
        self.operating = OperatorPermissions()
        self.operations = Operations(self._operated, asyncio.get_running_loop().time)
        self.sensors = SensorRequests(asyncio.get_running_loop().time)
        self.machine = MachineRequests()
        self.card = CardRequests(event_loop.authentications)
        self.user_changes = UserChanges(event_loop.authentications, reload)
        self.token_changes = TokenChanges(event_loop.authentications)
        self.logins = logins = LoginCommands(event_loop.authentications, version_key)
        self._commands: dict[str, Command] = {
            **self._own_commands(),
            "configuration": lambda _: configuration(),
            "events": EventCommands(event_loop.committer.writer.recent).listed,
            **TopicCommands(event_loop).commands,
            **UserListCommands(event_loop).commands,
            "authenticate": logins.authenticate,
            "user": logins.user,
            **REPORTS,
            **alarms.commands,
            **BanRequests(bans).commands,
            **self.sensors.commands,
        }

    def _own_commands(self) -> dict[str, Command]:
        return {
            "status": lambda _: self._status(),
            **self.user_changes.commands,
            **self.token_changes.commands,
            **self.machine.commands,
            **self.card.commands,
            **self._sessions.commands,
            "kick": self._kick,
            "drop": self._drop,
            "reload": lambda _: self._reload(),
            "report": self._report,
            "reports": self._all_reports,
            "observe": self._observe,
            "exported": self._exported,
        }

    async def start(self, configuration: Configuration) -> None:
        """Open the control sockets.

        Raises OSError if a socket cannot be opened. The message names the file and the fix.
        """
        gateway = configuration.gateway
        self._sockets = [
            ControlSocket(gateway.control_socket, gateway.control_group, self._answer),
            ControlSocket(gateway.status_socket, gateway.status_group, self._answer_reader),
        ]
        for each in self._sockets:
            await each.start()
        await self._operate(configuration)

    async def update_operate_socket(self, configuration: Configuration) -> None:
        """Open or close `operate.sock`, the socket for operators, as the configuration requires.

        Called once a second.
        """
        try:
            await self._operate(configuration)
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}"
            if problem != self._operate_problem:
                logger.error("the page may not act: %s", problem)
            self._operate_problem = problem
        else:
            self._operate_problem = None

    async def _operate(self, configuration: Configuration) -> None:
        gateway, self.operating.page = configuration.gateway, configuration.api
        self.sensors.tenant = configuration.tenant
        self.user_changes.configuration = configuration
        self.machine.directory = gateway.control_socket.parent / DIRECTORY
        self.card.directory = gateway.control_socket.parent / card_requests.DIRECTORY
        self.token_changes.configuration = configuration
        if configuration.api.has_operators and self._operate_socket is None:
            operate_socket = ControlSocket(
                gateway.operate_socket, gateway.operate_group, self._answer_page
            )
            try:
                await operate_socket.start()
            except OSError:
                await operate_socket.stop()
                raise
            self._operate_socket = operate_socket
        elif self._operate_socket is not None and not configuration.api.has_operators:
            await self._operate_socket.stop()
            self._operate_socket = None

    async def stop(self) -> None:
        """Close the control sockets and all their connections."""
        self.logins.stop()
        self.sensors.stop()
        for each in self._sockets:
            await each.stop()
        if self._operate_socket is not None:
            await self._operate_socket.stop()
            self._operate_socket = None

    async def _answer_reader(self, line: bytes, caller: str) -> dict[str, Any]:
        return await self._answer(line, caller, _permit_reading)

    async def _answer_page(self, line: bytes, caller: str) -> dict[str, Any]:
        return await self._answer(line, caller, self.operating.permit, self.operating.note)

    async def _answer(
        self, line: bytes, caller: str, permit: Permit | None = None, note: Note | None = None
    ) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            return refusal_of("bad_request", f"not a JSON object: {error}")
        if not isinstance(request, dict):
            return refusal_of("bad_request", "a request is a JSON object")
        answer = await self._answer_to(request, permit)
        if note is not None:
            note(request, answer)
        if permit is not _permit_reading:
            self.operations.note(request, answer, caller if note is None else who_of(request))
        return answer

    async def _answer_to(self, request: Request, permit: Permit | None) -> dict[str, Any]:
        try:
            result = self._command_of(request, permit)(request)
            if isinstance(result, Awaitable):
                result = await result
            return {"ok": True, "result": result}
        except Refused as refused:
            return refusal_of(refused.code, str(refused))
        except (ConfigurationError, AccessFileError) as error:
            return refusal_of("failed", f"the configuration stays as it was: {error}")

    def _command_of(self, request: Request, permit: Permit | None) -> Command:
        name = str(request.get("command"))
        if name not in self._commands:
            known = ", ".join(sorted(self._commands))
            raise Refused("unknown_command", f"'command' has to be one of {known}")
        if permit is not None:
            permit(name, request)
        return self._commands[name]

    # -- sessions

    def _kick(self, request: Request) -> dict[str, Any]:
        session = self._sessions.find(request)
        if session.connection is None:
            raise Refused("not_found", f"{session.client_id[:200]!r} is not connected")
        now = asyncio.get_running_loop().time()
        self._event_loop.broker.connection_lost(session.connection, CloseReason.KICKED, now)
        self._event_loop.schedule()
        return {"kicked": True}

    def _drop(self, request: Request) -> dict[str, Any]:
        session = self._sessions.find(request)
        self._event_loop.broker.drop_session(session, asyncio.get_running_loop().time())
        self._event_loop.schedule()
        return {"dropped": True}

    # -- our other processes

    def _report(self, request: Request) -> dict[str, Any]:
        source, status = request.get("source"), request.get("status")
        if source not in SOURCES or not isinstance(status, dict):
            raise Refused("bad_request", f"'source' is one of {SOURCES}, 'status' an object")
        if len(json.dumps(status)) > REPORT_BYTES_MAX:
            raise Refused("bad_request", f"'status' has at most {REPORT_BYTES_MAX} bytes")
        self._reports[source] = {
            "time_ms": self._event_loop.wall_clock.time_ms(),
            "at": time.monotonic(),
            "status": status,
        }
        return self._alarms.since(request.get("alarms_number")) if source == "bridge" else {}

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
        event = OBSERVABLE.get(str(request.get("event")))
        if event is None:
            raise Refused("bad_request", f"'event' has to be one of {tuple(OBSERVABLE)}")
        port, detail = text_of(request, "port"), text_of(request, "detail", "")
        self._event_loop.broker.observe(None, event, port, detail)
        self._event_loop.schedule()
        return {}

    def _operated(self, action: str, detail: str) -> None:
        self._event_loop.broker.observe(None, Observation.OPERATED, action, detail)
        self._event_loop.schedule()

    def _exported(self, request: Request) -> dict[str, Any]:
        sequence = request.get("sequence")
        last = self._event_loop.broker.batch.next_sequence - 1
        if not isinstance(sequence, int) or not 0 <= sequence <= last:
            raise Refused("bad_request", f"'sequence' has to be 0 to {last}")
        self._event_loop.committer.journal_room.exported(sequence)
        return {}


def _permit_reading(name: str, _: Request) -> None:
    if name not in READING:
        raise Refused("forbidden", f"this socket only reads: {', '.join(sorted(READING))}")
