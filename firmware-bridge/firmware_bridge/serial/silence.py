"""Detects silent ports. A port that receives nothing is reported once, and can be reopened.

When a serial port is reopened, DTR is lowered and raised again, which restarts many boards. For a
port at a network address, a new TCP connection is opened.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.status import PortStatus

logger = logging.getLogger(__name__)


class Silence:
    """Monitor of one open port, which reports or reopens the port if it receives no bytes.

    The port is reported after `silent_seconds` without a byte, and reopened after `reset_seconds`.
    Both settings are optional. A timer checks the port, so that receiving a byte needs no extra
    work.
    """

    def __init__(self, settings: PortSettings, status: PortStatus) -> None:
        self._settings = settings
        self._status = status
        self._timer: asyncio.TimerHandle | None = None
        self._opened_at = 0.0
        self._was_reset = False

    def begin(self, reset: Callable[[], None]) -> None:
        """Start watching a port that has just been opened. `reset` is called to reopen the port."""
        self._opened_at = time.monotonic()
        if not self._was_reset:
            self._status.quiet_since = self._opened_at
        self._was_reset = False
        self._check(reset)

    def end(self) -> None:
        """Stop watching the port for silence, before the port is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self, reset: Callable[[], None]) -> None:
        now = time.monotonic()
        status = self._status
        if status.held:
            # The port is not being read, so it cannot be called silent.
            status.quiet_since = self._opened_at = now
        waits: list[float] = []
        if (report := self._settings.silent_seconds) is not None:
            left = status.quiet_since + report - now
            if left <= 0 and not status.silent:
                status.silent = True
                logger.warning(
                    "serial port %s: no byte for %.0f s; check sensor, cable and line settings",
                    self._settings.name,
                    now - status.quiet_since,
                )
            waits.append(left if left > 0 else report)
        if (after := self._settings.reset_seconds) is not None:
            left = max(status.quiet_since, self._opened_at) + after - now
            if left <= 0:
                self._note_reset()
                reset()
                return
            waits.append(left)
        if waits:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.01, min(waits)), self._check, reset)

    def _note_reset(self) -> None:
        self._was_reset = True
        self._status.resets += 1
        # Only the 1st, 2nd, 4th, 8th ... reopening is logged, because a silence may be long.
        if self._status.resets.bit_count() == 1:
            logger.warning(
                "serial port %s: silent, opened again (%d times since the start)",
                self._settings.name,
                self._status.resets,
            )
