"""The bridge, running inside the test's event loop, and the broker's end of its control socket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from firmware_bridge import main
from firmware_bridge.mqtt.settings import BrokerSettings
from firmware_bridge.protocols.table import PROTOCOLS
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.settings import BridgeSettings

from gateway.process.declarations.serial_line import Line
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.terminal import Terminal
from tests.peers.control_server import ControlServer

OF_PORT = (
    "address",
    "flow_control",
    "silent_seconds",
    "reset_seconds",
    "readings",
    "when_full",
    "device_silent_seconds",
)


class ControlRoom(ControlServer):
    """A control socket server that records the bridge's reports."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._news = asyncio.Condition()

    @property
    def observations(self) -> list[dict[str, Any]]:
        return self.of("observe")

    @property
    def status(self) -> dict[str, Any]:
        """The status in the latest report."""
        reports = [request for request in self.requests if request["command"] != "observe"]
        return reports[-1]["status"] if reports else {}

    async def stop(self) -> None:
        await super().stop()
        self.path.unlink(missing_ok=True)

    async def wait_until(self, condition: Callable[["ControlRoom"], bool]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(lambda: condition(self))

    async def wait_for_port(self, name: str, state: str) -> None:
        await self.wait_until(lambda room: room.port(name).get("state") == state)

    def port(self, name: str) -> dict[str, Any]:
        found = [port for port in self.status.get("ports", []) if port["name"] == name]
        return found[0] if found else {}

    async def received(self) -> None:
        async with self._news:
            self._news.notify_all()


def port_of(
    name: str,
    path: Path,
    framing: str,
    *,
    units: dict[str, str] | None = None,
    device: str | None = None,
    **keys: Any,
) -> PortSettings:
    """Return a port as the configuration would create it.

    `keys` are settings of the port and of its protocol.
    """
    own = {key: keys.pop(key) for key in OF_PORT if key in keys}
    place = None if "address" in own else str(path)
    protocol = PROTOCOLS[framing](**keys)
    return PortSettings(
        name, place, None, framing, protocol, Line(), units=units or {}, device=device, **own
    )


def port_on(terminal: Terminal, framing: str, **others: Any) -> PortSettings:
    """Return settings for the port `sensor` on a pseudo-terminal."""
    return port_of("sensor", terminal.link, framing, **others)


def settings_of(
    directory: Path,
    broker_port: int,
    *ports: PortSettings,
    client_id: str = "bridge-under-test",
    username: str | None = None,
    password: str | None = None,
    **others: Any,
) -> BridgeSettings:
    chosen: dict[str, Any] = {
        "data_dir": directory,
        "broker": BrokerSettings("127.0.0.1", broker_port, client_id, username, password),
        "control_socket": directory / "control.sock",
        "ports": ports,
        "report_seconds": 0.05,
    }
    return BridgeSettings(**{**chosen, **others})


@contextlib.asynccontextmanager
async def running_bridge(settings: BridgeSettings) -> AsyncIterator[ControlRoom]:
    """Run the bridge until the block ends, and then stop it cleanly."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    async with ControlRoom(settings.control_socket) as room:
        stop = asyncio.Event()
        serving = asyncio.create_task(main.serve(settings, stop))
        try:
            yield room
        finally:
            stop.set()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await serving
