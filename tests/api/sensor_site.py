"""A page with users, a real broker, and the part of a bridge that carries out requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from firmware_bridge.sensor_requests import Configured, SensorRequests
from firmware_bridge.serial.detections import Detections

from gateway.cli.sensor_files import ConfigurationSource
from tests.api.acting import Site, site


@asynccontextmanager
async def sensor_site(directory: Path, text: str = "") -> AsyncIterator[Site]:
    """A site whose sensors are those of `gateway.toml` and `conf.d/` in the directory."""
    file = directory / "gateway.toml"
    file.write_text(text)
    files = ConfigurationSource(file, None).sensor_files()
    configured: list[Configured] = [files.read()]

    async def replace(settings: Configured) -> None:
        configured.append(settings)

    async with site(directory) as at:
        detections = Detections(lambda: configured[-1])
        control = directory / "data" / "control.sock"
        requests = SensorRequests(control, files, detections, replace)
        tasks = [asyncio.create_task(run()) for run in (detections.run, requests.run)]
        try:
            yield at
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
