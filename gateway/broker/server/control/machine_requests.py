"""The commands `restart` and `reboot`, which systemd executes as root.

The broker is not allowed to restart services. It creates an empty file in the directory `requests`,
which the Debian package creates next to the control sockets. A path unit of systemd (image/systemd)
notices the file and starts the unit that restarts the gateway or reboots the machine. Without the
directory, both commands are refused.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gateway.broker.server.control.refused import Refused
from gateway.process.files.disk_errors import line_of

DIRECTORY: Final = "requests"
"""Name of the directory for requests, next to the control sockets."""
COMMANDS: Final = frozenset({"restart", "reboot"})
"""The commands that this module answers. The file of a request has the name of its command."""

Request = dict[str, Any]


class MachineRequests:
    """Handlers for the commands `restart` and `reboot`. They pass the requests to systemd."""

    def __init__(self) -> None:
        self.directory: Path | None = None
        """The directory of requests, or None before the sockets are open."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Request]]:
        """Handler functions for the commands `restart` and `reboot`, keyed by command name."""
        return dict.fromkeys(COMMANDS, self._requested)

    def _requested(self, request: Request) -> Request:
        """Create the file for a request to systemd, unless the file already exists.

        Raises Refused if the file cannot be created.
        """
        name = str(request["command"])
        if self.directory is None or not self.directory.is_dir():
            raise Refused(
                "unavailable",
                f"{name} needs the Debian package or the SD card, whose systemd carries it out: "
                "restart this gateway where it was started",
            )
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.close(os.open(self.directory / name, flags, 0o600))
        except FileExistsError:
            pass  # requested a moment ago, and not carried out yet
        except OSError as error:
            raise Refused("failed", f"{self.directory / name}: {line_of(error)}") from None
        return {"requested": True}
