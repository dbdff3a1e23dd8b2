"""Sends the bridge's status, and events about serial ports, to the broker's control socket.

An event reports that a serial port was found or lost. While the broker is not running, the socket
does not exist. Status reports are then skipped, but events are queued. Sending never delays
readings.
"""

import asyncio
import contextlib
import json
import logging
import re
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Literal

from gateway.process.control.client import ControlClient
from gateway.process.control.messages import Refused, UnusableAnswer

logger = logging.getLogger(__name__)

# Events queued while the broker is not running. When the queue is full, the oldest is dropped.
OBSERVATIONS_MAX = 256
# Size of a status, below the broker's limit (docs/formats/control-socket.md), so that the rest of
# the report fits too.
STATUS_BYTES_MAX = 60 * 1024
ANSWER_SECONDS_MAX = 5.0
# Largest number of kinds of alarms. The broker has the same limit. Each kind is a level of a topic.
ALARMS_MAX = 100
ALARM = re.compile(r"[a-z][a-z_]{0,39}")

Observation = Literal["serial_port_found", "serial_port_lost"]
Status = dict[str, object]


class ControlSocket:
    """Client of the broker's control socket. It sends status reports and port events.

    Events are queued until they have been sent. `path` is the path of the socket.
    """

    def __init__(self, path: Path) -> None:
        self._client = ControlClient(path, ANSWER_SECONDS_MAX)
        self._observations: deque[Status] = deque(maxlen=OBSERVATIONS_MAX)
        self._wake = asyncio.Event()
        self._alarms_number: object = None
        self.alarms: dict[str, bytes] = {}
        """Payloads of the gateway's alarms by kind. A kind without an active alarm has `b""`."""

    def observe(self, event: Observation, port: str, detail: str) -> None:
        """Queue an event about a port. It is sent to the broker before the next status report.

        `detail` is the path of a port that was found, or the fault of a port that was lost.
        """
        self._observations.append(
            {"command": "observe", "event": event, "port": port, "detail": detail}
        )
        self._wake.set()

    async def run(self, status: Callable[[], Status], report_seconds: float) -> None:
        """Send a status report every `report_seconds` seconds, and queued events immediately.

        `status` is called to create each report. This method runs until it is cancelled.
        """
        try:
            while True:
                with contextlib.suppress(OSError, EOFError, UnusableAnswer):
                    await self._report(status())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(report_seconds):
                        await self._wake.wait()
                self._wake.clear()
        finally:
            self._client.close()

    async def _report(self, status: Status) -> None:
        while self._observations:
            observation = self._observations[0]
            await self._ask(observation)
            # The event is removed only after it was sent, so that a failure does not lose it.
            if self._observations and self._observations[0] is observation:
                self._observations.popleft()
        answer = await self._ask(
            {
                "command": "report",
                "source": "bridge",
                "status": shortened(status),
                "alarms_number": self._alarms_number,
            }
        )
        if "alarms" in answer:
            self._alarms_number = answer.get("alarms_number")
            self.alarms = alarm_payloads(answer["alarms"])

    async def _ask(self, request: Status) -> Status:
        try:
            return await self._client.request(request)
        except Refused as refusal:
            logger.debug("the broker refused %s: %s", request["command"], refusal)
            return {}


def alarm_payloads(alarms: object) -> dict[str, bytes]:
    """Return the MQTT payload for each kind of alarm.

    `alarms` is a part of a response from the broker. It contains the details of each active kind,
    and None for each inactive kind. The payload of an active kind is its details as JSON. The
    payload of an inactive kind is empty. Kinds with invalid names are left out.
    """
    kinds = alarms if isinstance(alarms, dict) else {}
    return {
        kind: b"" if value is None else json.dumps(value, separators=(",", ":")).encode()
        for kind, value in islice(kinds.items(), ALARMS_MAX)
        if ALARM.fullmatch(kind) is not None
    }


def shortened(status: Status) -> Status:
    """Return the status, shortened so that its JSON has at most `STATUS_BYTES_MAX` bytes.

    If the status is too long, parts are removed one after another until it fits: first the 5-second
    statistics of all quantities, then all but 8 quantities per device, then all quantities, and
    finally all devices.
    """
    if len(json.dumps(status)) <= STATUS_BYTES_MAX:
        return status
    for quantities_max in (None, 8, 0):
        status = _without_statistics(status, quantities_max)
        if len(json.dumps(status)) <= STATUS_BYTES_MAX:
            return status
    ports = status["ports"]
    assert isinstance(ports, list)
    return {**status, "ports": [{**port, "devices": []} for port in ports]}


def _without_statistics(status: Status, quantities_max: int | None) -> Status:
    """Return the status without the 5-second statistics of quantities.

    Only the first `quantities_max` quantities of each device are kept. If it is None, all are kept.
    """
    ports = status["ports"]
    assert isinstance(ports, list)
    return {
        **status,
        "ports": [
            {
                **port,
                "devices": [
                    {
                        **device,
                        "quantities": [_plain(q) for q in device["quantities"][:quantities_max]],
                    }
                    for device in port["devices"]
                ],
            }
            for port in ports
        ],
    }


def _plain(quantity: Status) -> Status:
    return {name: value for name, value in quantity.items() if name != "steps"}
