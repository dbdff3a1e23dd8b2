"""Sends notifications to systemd: ready, alive, reloading, stopping, and a one-line status.

If a process hangs, it stops calling `alive`, and systemd restarts it. If the process was not
started by systemd, the calls have no effect.
"""

import logging
import os
import time

from gateway.process.files.disk_errors import line_of

try:
    from systemd import daemon
except ImportError:  # the extra `systemd` is not installed
    daemon = None

logger = logging.getLogger(__name__)

_FED_EACH = 4
"""Maximum number of WATCHDOG=1 messages per watchdog timeout. systemd recommends two."""

_NO_LIBRARY = (
    "systemd waits for notifications and ends this process without them, but systemd-python is not "
    "installed: install the wheel file with its extra [systemd] (docs/install.md), or set "
    "Type=exec without WatchdogSec= in the unit"
)


class Service:
    """The connection over which a process sends notifications to systemd."""

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
        """Report that the process is ready."""
        self._notify("READY=1")

    def alive(self) -> None:
        """Report that the process is working, so that systemd's watchdog does not restart it.

        Frequent calls are harmless: only a few messages are sent per watchdog timeout.
        """
        if self.watchdog_seconds is None:
            return
        now = time.monotonic()
        if now - self._fed_at >= self.watchdog_seconds / _FED_EACH:
            self._fed_at = now
            self._notify("WATCHDOG=1")

    def reloading(self) -> None:
        """Report that the process begins to reload its configuration. `ready` reports the end.

        systemd 253 and newer (Type=notify-reload) needs the time at which the reload began.
        """
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._notify(f"RELOADING=1\nMONOTONIC_USEC={microseconds}")

    def stopping(self) -> None:
        """Report that the process is stopping."""
        self._notify("STOPPING=1")

    def status(self, text: str) -> None:
        """Report a line of text for `systemctl status`, unless the text is unchanged."""
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
            # The service manager may be restarting and will listen again.
            if not self._deaf:
                logger.warning(
                    "%s cannot be reported to the service manager: %s", message, line_of(error)
                )
            self._deaf = True
        else:
            self._deaf = False
