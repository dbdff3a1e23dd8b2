"""The commands `restart` and `reboot`, which systemd carries out as root.

The broker has no right to restart services. It creates an empty file in `requests`, a directory
beside its control sockets that the Debian package creates, and a path unit of systemd starts the
unit that acts (image/systemd). Without that directory, both commands are refused.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gateway.broker.server.control.refused import Refused
from gateway.process.files.disk_errors import line_of

DIRECTORY: Final = "requests"
"""Name of the directory of requests, beside the control sockets."""
COMMANDS: Final = frozenset({"restart", "reboot"})
"""Commands that are answered here; a request's file has the command's name."""

Request = dict[str, Any]


class MachineRequests:
    """Passes requests of administrators on to systemd."""

    def __init__(self) -> None:
        self.directory: Path | None = None
        """The directory of requests, or None before the sockets are open."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Request]]:
        """The commands `restart` and `reboot`."""
        return dict.fromkeys(COMMANDS, self._requested)

    def _requested(self, request: Request) -> Request:
        """Create the file of a request, unless it exists already. Raises Refused if that fails."""
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
