"""What systemd is told: ready, alive, stopping, and one line on how things are.

The watchdog is fed by the event loop and only while commits succeed: a broker that cannot write is
not alive. Without systemd every call does nothing.
"""

import logging
import os

try:
    from systemd import daemon
except ImportError:  # no systemd on this machine, for example macOS
    daemon = None

logger = logging.getLogger(__name__)


class Service:
    """The service manager's view of this process."""

    def __init__(self) -> None:
        microseconds = os.environ.get("WATCHDOG_USEC", "")
        for_us = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self.watchdog_seconds = (
            int(microseconds) / 1e6 if microseconds.isdigit() and for_us else None
        )
        self._status = ""
        self._deaf = False

    def ready(self) -> None:
        """The broker accepts connections."""
        self._notify("READY=1")

    def alive(self) -> None:
        """The event loop turns and commits succeed."""
        if self.watchdog_seconds is not None:
            self._notify("WATCHDOG=1")

    def reloading(self) -> None:
        """The configuration is being read again; `ready` ends it."""
        self._notify("RELOADING=1")

    def stopping(self) -> None:
        """Connections are being ended."""
        self._notify("STOPPING=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        if text != self._status:
            self._status = text
            self._notify(f"STATUS={text}")

    def _notify(self, message: str) -> None:
        if daemon is None or "NOTIFY_SOCKET" not in os.environ:
            return
        try:
            daemon.notify(message)
        except OSError as error:
            # The service manager is being restarted, for example: it will listen again.
            if not self._deaf:
                logger.warning("the service manager cannot be told %s: %s", message, error)
            self._deaf = True
        else:
            self._deaf = False
