"""A page with users, a real broker, and either a bridge or only its part for sensor requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from firmware_bridge import main
from firmware_bridge.sensor_requests import Configured, SensorRequests
from firmware_bridge.serial.detections import Detections
from firmware_bridge.serial.port import Port
from firmware_bridge.serial.ports import Ports
from firmware_bridge.serial.settings import PortSettings

from gateway.cli.services.sensor_files import ConfigurationSource
from tests.api.acting import Site, site
from tests.api.conftest import DEADLINE_SECONDS
from tests.bridge.running import settings_of


@asynccontextmanager
async def sensor_site(directory: Path, text: str = "") -> AsyncIterator[Site]:
    """Run a site whose sensors are those in the directory's `gateway.toml` and `conf.d/`.

    No port is read.
    """
    file = directory / "gateway.toml"
    file.write_text(text)
    files = ConfigurationSource(file, None).sensor_files()
    configured: list[Configured] = [files.read()]

    async def replace(settings: Configured) -> None:
        configured.append(settings)

    async with site(directory) as at:
        detections = Detections(lambda: configured[-1])
        control = directory / "data" / "control.sock"
        ports = Ports(_not_read, asyncio.TaskGroup())
        requests = SensorRequests(
            *(control, files, detections, ports), replace=replace, use_alarms_topic=lambda _: None
        )
        tasks = [asyncio.create_task(run()) for run in (detections.run, requests.run)]
        try:
            yield at
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def site_with_bridge(directory: Path, text: str) -> AsyncIterator[Site]:
    """Run a site with a whole bridge, which reads the ports in this configuration."""
    file = directory / "gateway.toml"
    file.write_text(text)
    files = ConfigurationSource(file, None).sensor_files()
    async with site(directory) as at:
        control = directory / "data" / "control.sock"
        (directory / "bridge").mkdir()
        settings = settings_of(directory / "bridge", at.port, *files.read(), control_socket=control)
        stop = asyncio.Event()
        serving = asyncio.create_task(main.serve(settings, stop, sensor_files=files))
        try:
            yield at
        finally:
            stop.set()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await serving


def _not_read(_: PortSettings) -> Port:
    raise AssertionError("a port of this site is not read")
