"""Runs detections of devices, at most one per port.

A detection is stopped when web pages no longer request its progress.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from firmware_bridge.serial.detection import Detection, selection_of, settings_of
from firmware_bridge.serial.identity import path_of
from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.settings import PortSettings
from gateway.process.control.messages import Refused

DETECTIONS_MAX: Final = 4
"""Largest number of concurrent detections. Each repeatedly decodes 64 KiB with every protocol."""
UNWATCHED_SECONDS_MAX: Final = 20.0
"""A detection is stopped if its progress is not requested for this time.

A page without JavaScript requests it every 5 s.
"""
PORT_CHARACTERS_MAX: Final = 200
"""Longest port name in an error message, in characters."""


class Detections:
    """The running detections, keyed by port. Call all methods from one event loop."""

    def __init__(
        self,
        configured: Callable[[], Sequence[PortSettings]],
        make: Callable[..., Detection] = Detection,
    ) -> None:
        """Store the functions that return the configured ports and create detections.

        `configured` returns the settings of the ports that the bridge reads. Detections are not
        started on these ports. `make` creates a detection.
        """
        self._configured = configured
        self._make = make
        self._running: dict[str, tuple[Detection, asyncio.Task[None]]] = {}

    async def begin(self, port: str, *, polls: bool = False) -> dict[str, Any]:
        """Start a detection on a port, or continue a running one. Return its progress.

        If the argument `polls` is True, the detection also polls for a meter, and replaces any
        detection that is already running on the port.

        Raises:
            Refused: if the bridge already reads the port, too many detections run, or `port` is
                invalid.
        """
        selection_of(port)
        self._stop_unwatched()
        if port in self._running and self._can_continue(port, polls=polls):
            return self._running[port][0].progress()
        await self.end(port)
        name = await asyncio.to_thread(reader_of, port, self._configured())
        if name is not None:
            raise Refused(
                "conflict",
                f"{port[:PORT_CHARACTERS_MAX]} is read as the sensor {name}: its values are on "
                "the page of sensors; remove the sensor to detect again",
            )
        if len(self._running) >= DETECTIONS_MAX:
            raise Refused(
                "busy",
                f"{DETECTIONS_MAX} detections run: close their pages, and try again in "
                f"{UNWATCHED_SECONDS_MAX:g} seconds",
            )
        detection = self._make(port, polls=polls)
        self._running[port] = detection, asyncio.create_task(detection.run())
        return detection.progress()

    def progress(self, port: str) -> dict[str, Any]:
        """Return the progress of the detection on a port. Raises Refused if none is running."""
        self._stop_unwatched(except_for=port)
        if port not in self._running:
            raise Refused("not_found", f"no detection runs on {port[:PORT_CHARACTERS_MAX]}")
        return self._running[port][0].progress()

    def readers(self) -> dict[str, str]:
        """Return the names of the configured ports, keyed by the device file that each port reads.

        The current device files are looked up at each call.
        """
        return readers_by_device(self._configured())

    def states(self) -> dict[str, str]:
        """Return the state of each running detection, keyed by port."""
        self._stop_unwatched()
        return {port: detection.state for port, (detection, _) in self._running.items()}

    async def run(self) -> None:
        """Stop unwatched detections periodically, until cancelled. Then stop all detections."""
        try:
            while True:
                await asyncio.sleep(UNWATCHED_SECONDS_MAX / 4)
                self._stop_unwatched()
        finally:
            for port in list(self._running):
                await self.end(port)

    async def end(self, port: str) -> None:
        """Stop the detection on a port, if one is running, and close the port."""
        found = self._running.pop(port, None)
        if found is not None:
            found[1].cancel()
            await asyncio.gather(found[1], return_exceptions=True)

    async def end_on(self, settings: Sequence[PortSettings]) -> None:
        """Stop the detections on the ports in `settings`, which the bridge will read."""
        for port in list(self._running):
            if await asyncio.to_thread(reader_of, port, settings) is not None:
                await self.end(port)

    def _can_continue(self, port: str, *, polls: bool) -> bool:
        """Return True if the running detection on a port can be continued.

        Return False if it has failed or found nothing, or if the argument `polls` is True. In the
        latter case, a new detection is needed, which also polls for a meter.
        """
        return self._running[port][0].state not in ("nothing", "failed") and not polls

    def _stop_unwatched(self, except_for: str | None = None) -> None:
        since = time.monotonic() - UNWATCHED_SECONDS_MAX
        for port, (detection, task) in list(self._running.items()):
            if detection.watched_at < since and port != except_for:
                task.cancel()
                del self._running[port]


def readers_by_device(configured: Sequence[PortSettings]) -> dict[str, str]:
    """Return the names of configured ports, keyed by the device file that each port reads.

    The device files are looked up at each call, because they can change when a device is plugged
    in.
    """
    found = {_device_of(each): each.name for each in configured if each.address is None}
    return {device: name for device, name in found.items() if device is not None}


def reader_of(port: str, configured: Sequence[PortSettings]) -> str | None:
    """Return the name of the configured port that reads the device `port`, or None."""
    device = _device_of(settings_of(port))
    return None if device is None else readers_by_device(configured).get(device)


def _device_of(settings: PortSettings) -> str | None:
    try:
        return os.path.realpath(path_of(settings))
    except PortLost:
        return None
