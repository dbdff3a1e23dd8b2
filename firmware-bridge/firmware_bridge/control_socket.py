"""The bridge's side of the broker's control socket: its status and what happened to its ports.

The socket may be absent for as long as the broker is: a report is simply not made, an observation
waits. Nothing here can hold up a reading.
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

# Ports that come and go while the broker is away; older observations give way to newer.
OBSERVATIONS_MAX = 256
# The broker accepts this much of a status (docs/formats/control-socket.md); a margin for the rest.
STATUS_BYTES_MAX = 60 * 1024
ANSWER_SECONDS_MAX = 5.0
# Kinds of alarms: the broker accepts as many of the page, and each is a topic level.
ALARMS_MAX = 100
ALARM = re.compile(r"[a-z][a-z_]{0,39}")
QUANTITIES_MAX = 1_000_000
"""No limit to their number."""

Observation = Literal["serial_port_found", "serial_port_lost"]
Status = dict[str, object]


class ControlSocket:
    """`run` does not return by itself."""

    def __init__(self, path: Path) -> None:
        self._client = ControlClient(path, ANSWER_SECONDS_MAX)
        self._observations: deque[Status] = deque(maxlen=OBSERVATIONS_MAX)
        self._wake = asyncio.Event()
        self._alarms_number: object = None
        self.alarms: dict[str, bytes] = {}
        """Payloads of the gateway's alarms by kind; empty for a kind without an alarm."""

    def observe(self, event: Observation, port: str, detail: str) -> None:
        """Report at the next occasion what happened to a port."""
        self._observations.append(
            {"command": "observe", "event": event, "port": port, "detail": detail}
        )
        self._wake.set()

    async def run(self, status: Callable[[], Status], report_seconds: float) -> None:
        """Report `status()` each `report_seconds`, and observations before it."""
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
            # Taken off only now: a broker that went away meanwhile gets it next time.
            if self._observations and self._observations[0] is observation:
                self._observations.popleft()
        answer = await self._ask(
            {
                "command": "report",
                "source": "bridge",
                "status": bounded(status),
                "alarms_number": self._alarms_number,
            }
        )
        if "alarms" in answer:
            self._alarms_number = answer.get("alarms_number")
            self.alarms = payloads_of(answer["alarms"])

    async def _ask(self, request: Status) -> Status:
        try:
            return await self._client.request(request)
        except Refused as refusal:
            logger.debug("the broker refused %s: %s", request["command"], refusal)
            return {}


def payloads_of(alarms: object) -> dict[str, bytes]:
    """Return the payload of each kind of alarm: JSON, or nothing where there is none."""
    kinds = alarms if isinstance(alarms, dict) else {}
    return {
        kind: b"" if value is None else json.dumps(value, separators=(",", ":")).encode()
        for kind, value in islice(kinds.items(), ALARMS_MAX)
        if ALARM.fullmatch(kind) is not None
    }


def bounded(status: Status) -> Status:
    """Return the status, with fewer values shown where it would be too long: first without the
    steps of quantities that arrive often.
    """
    for limit in (None, QUANTITIES_MAX, 8, 0):
        if limit is not None:
            status = _with_quantities(status, limit)
        if len(json.dumps(status)) <= STATUS_BYTES_MAX:
            return status
    ports = status["ports"]
    assert isinstance(ports, list)
    return {**status, "ports": [{**port, "devices": []} for port in ports]}


def _with_quantities(status: Status, limit: int) -> Status:
    ports = status["ports"]
    assert isinstance(ports, list)
    return {
        **status,
        "ports": [
            {
                **port,
                "devices": [
                    {**device, "quantities": [_plain(q) for q in device["quantities"][:limit]]}
                    for device in port["devices"]
                ],
            }
            for port in ports
        ],
    }


def _plain(quantity: Status) -> Status:
    return {name: value for name, value in quantity.items() if name != "steps"}
