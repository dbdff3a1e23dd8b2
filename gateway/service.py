"""Reports of a process to systemd: ready, alive, reloading, stopping, and its status in a line.

Each process calls `alive` where it does its work, and only there: one that stands still is ended
and started again by systemd. Where systemd has not started the process every call does nothing.
"""

import logging
import os
import time

from gateway.files.disk_errors import line_of

try:
    from systemd import daemon
except ImportError:  # the extra `systemd` is not installed
    daemon = None

logger = logging.getLogger(__name__)

_FED_EACH = 4
"""WATCHDOG=1 is sent at most so often within the time that systemd waits for it. It asks for 2."""

_NO_LIBRARY = (
    "systemd waits for notifications and ends this process without them, but systemd-python is not "
    "installed: install the wheel file with its extra [systemd] (docs/install.md), or set "
    "Type=exec without WatchdogSec= in the unit"
)


class Service:
    """The service manager's view of this process."""

    def __init__(self) -> None:
        microseconds = os.environ.get("WATCHDOG_USEC", "")
        for_us = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self.watchdog_seconds = (
            int(microseconds) / 1e6 if microseconds.isdigit() and for_us else None
        )
        self._fed_at = float("-inf")
        self._status = ""
        self._deaf = False

    def ready(self) -> None:
        """Report that the process does its work."""
        self._notify("READY=1")

    def alive(self) -> None:
        """Report that the process has just worked.

        May be called often: few calls become a message.
        """
        if self.watchdog_seconds is None:
            return
        now = time.monotonic()
        if now - self._fed_at >= self.watchdog_seconds / _FED_EACH:
            self._fed_at = now
            self._notify("WATCHDOG=1")

    def reloading(self) -> None:
        """Report that the configuration is being read again; `ready` ends it.

        systemd 253 and newer (Type=notify-reload) ignore it without the time at which it began.
        """
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._notify(f"RELOADING=1\nMONOTONIC_USEC={microseconds}")

    def stopping(self) -> None:
        """Report that connections are being ended."""
        self._notify("STOPPING=1")

    def status(self, text: str) -> None:
        """Report one line for `systemctl status`."""
        if text != self._status:
            self._status = text
            self._notify(f"STATUS={text}")

    def _notify(self, message: str) -> None:
        if "NOTIFY_SOCKET" not in os.environ:
            return
        if daemon is None:
            if not self._deaf:
                logger.error(_NO_LIBRARY)
            self._deaf = True
            return
        try:
            daemon.notify(message)
        except OSError as error:
            # The service manager is being restarted, for example: it will listen again.
            if not self._deaf:
                logger.warning(
                    "%s cannot be reported to the service manager: %s", message, line_of(error)
                )
            self._deaf = True
        else:
            self._deaf = False
