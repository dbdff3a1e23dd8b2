"""Handles requests about ports and sensors that operators make on the web page.

The bridge has no socket of its own. It fetches requests from the broker over the control socket,
handles them one by one, and sends each response with the next fetch. The broker checks the
operator's role (docs/decisions/0175-*.md).
"""

import asyncio
import logging
import os
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from firmware_bridge.protocols.table import PROTOCOLS
from firmware_bridge.serial.detections import Detections
from firmware_bridge.serial.plugged import ports_found
from firmware_bridge.serial.ports import Ports
from firmware_bridge.serial.settings import PortSettings
from gateway.process.control.client import ControlClient
from gateway.process.control.messages import Refused, UnusableAnswer
from gateway.process.files.disk_errors import line_of
from gateway.process.mqtt_client.backoff import Backoff

logger = logging.getLogger(__name__)

POLL_SECONDS_MAX: Final = 30.0
"""Timeout for a response from the broker, which waits up to 20 s for an operator's request."""
AGAIN_SECONDS_MAX: Final = 2.0
"""Longest pause between attempts to reach the broker. A person may be waiting for a response."""
PORTS_LISTED_MAX: Final = 128
"""Largest number of ports in a response. Some machines have 32 ports with nothing connected."""

Request = Mapping[str, Any]
Configured = tuple[PortSettings, ...]
Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SensorFiles:
    """Functions of the command-line program that read and change the configuration of ports.

    If a function fails, it raises Refused and changes nothing. `read`, `save`, `remove` and `undo`
    return all configured ports. `save`, `remove` and `undo` take the name of a port, and the
    version of the port's file that the operator has seen. If this version is None, any version is
    accepted.
    """

    read: Callable[[], Configured]
    alarms_topic: Callable[[], str]
    """Returns the topic below which alarms are published."""
    listed: Callable[[], list[Table]]
    """Returns each configured port, and each removed port that can be restored."""
    file_of: Callable[[str], Table]
    """Returns the configuration file of a port as JSON values."""
    save: Callable[[str, Table, str | None], Configured]
    remove: Callable[[str, str | None], Configured]
    undo: Callable[[str, str | None], Configured]


class SensorRequests:
    """Handler for the requests of operators about ports and sensors."""

    def __init__(
        self,
        socket: Path,
        files: SensorFiles,
        detections: Detections,
        ports: Ports,
        *,
        replace: Callable[[Configured], Awaitable[None]],
        use_alarms_topic: Callable[[str], None],
    ) -> None:
        """Store the objects that are needed to handle requests.

        Args:
            socket: path of the broker's control socket.
            files: access to the configuration of ports.
            detections: the running detections of unknown devices.
            ports: the ports that the bridge reads.
            replace: coroutine function that stops and starts ports, so that the bridge reads
                exactly the ports in its argument.
            use_alarms_topic: function that is called with the alarms' topic after a reload.
        """
        self._client = ControlClient(socket, POLL_SECONDS_MAX)
        self._files = files
        self._detections = detections
        self._ports_read = ports
        self._replace = replace
        self._use_alarms_topic = use_alarms_topic
        self._commands: dict[str, Callable[[Request], Awaitable[Table]]] = {
            "serial_ports": self._ports,
            "serial_port": self._port,
            "serial_detect": self._detect,
            "serial_progress": self._progress,
            "serial_frames": self._frames,
            "serial_save": self._save,
            "serial_remove": self._remove,
            "serial_undo": self._undo,
            "serial_reload": self._reload,
        }

    async def run(self) -> None:
        """Fetch requests and handle them until cancelled."""
        backoff = Backoff(AGAIN_SECONDS_MAX)
        answers: list[Table] = []
        try:
            while True:
                try:
                    result = await self._client.request(
                        {"command": "serial_requests", "answers": answers}
                    )
                except (OSError, EOFError, UnusableAnswer, Refused) as error:
                    # The broker reports to the operators that the bridge did not respond.
                    logger.debug("requests about ports are not fetched: %s", line_of(error))
                    answers = []
                    await backoff.wait()
                    continue
                backoff.reset()
                answers = [await self._answer_to(each) for each in requests_in(result)]
        finally:
            self._client.close()

    async def _answer_to(self, request: Request) -> Table:
        number = request.get("number")
        carry_out = self._commands.get(str(request.get("command")))
        try:
            if carry_out is None:
                raise Refused("bad_request", "this bridge has no such command: update it")
            return {"number": number, "ok": True, "result": await carry_out(request)}
        except Refused as refused:
            error = {"code": refused.code, "message": refused.message}
            return {"number": number, "ok": False, "error": error}

    async def _ports(self, _: Request) -> Table:
        plugged = await asyncio.to_thread(_plugged, self._detections.readers)
        configured = await asyncio.to_thread(self._files.listed)
        return {
            "ports": plugged,
            "sensors": configured,
            "detections": self._detections.states(),
            "protocols": [*PROTOCOLS],
        }

    async def _port(self, request: Request) -> Table:
        return await asyncio.to_thread(self._files.file_of, _text(request, "name"))

    async def _detect(self, request: Request) -> Table:
        return await self._detections.begin(
            _text(request, "port"), polls=request.get("ask") is True
        )

    async def _progress(self, request: Request) -> Table:
        return self._detections.progress(_text(request, "port"))

    async def _frames(self, request: Request) -> Table:
        port = self._ports_read.find(_text(request, "name"))
        if port is None:
            raise Refused("not_found", "the bridge reads no port of this name")
        return {"frames": port.recent_frames()}

    async def _save(self, request: Request) -> Table:
        table = request.get("table")
        if not isinstance(table, dict):
            raise Refused("bad_request", "'table' is an object")
        name, version = _text(request, "name"), _version(request)
        return await self._changed(await asyncio.to_thread(self._files.save, name, table, version))

    async def _remove(self, request: Request) -> Table:
        name, version = _text(request, "name"), _version(request)
        return await self._changed(await asyncio.to_thread(self._files.remove, name, version))

    async def _undo(self, request: Request) -> Table:
        name, version = _text(request, "name"), _version(request)
        return await self._changed(await asyncio.to_thread(self._files.undo, name, version))

    async def _reload(self, _: Request) -> Table:
        ports = await asyncio.to_thread(self._files.read)
        self._use_alarms_topic(await asyncio.to_thread(self._files.alarms_topic))
        return await self._changed(ports)

    async def _changed(self, settings: Configured) -> Table:
        await self._detections.end_on(settings)
        await self._replace(settings)
        logger.info("serial ports: %s", ", ".join(each.name for each in settings) or "none")
        return {"sensors": [each.name for each in settings]}


def requests_in(result: Mapping[str, Any]) -> list[Request]:
    """Return the requests in a response from the broker. Malformed parts are ignored."""
    found = result.get("requests")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _plugged(readers: Callable[[], Mapping[str, str]]) -> list[Table]:
    """Return the serial ports of this machine, in the form of a response to an operator.

    The field `sensor` is the configured name of the port, or None if the bridge does not read the
    port.
    """
    names = readers()
    return [
        {
            **port,
            "selection": tomllib.loads(port["toml"]),
            "sensor": names.get(os.path.realpath(port["path"])),
        }
        for port in islice(ports_found(), PORTS_LISTED_MAX)
    ]


def _text(request: Request, key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise Refused("bad_request", f"'{key}' has to be a string")
    return value


def _version(request: Request) -> str | None:
    return None if request.get("version") is None else _text(request, "version")
