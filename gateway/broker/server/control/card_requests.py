"""Requests to change the host name, the network or the version of the system on the SD card.

The broker is not allowed to change the machine. It writes each request as a JSON object into the
directory `card-requests`, which exists only if the gateway runs from the SD card. A systemd path
unit then starts a program, which checks the request again and carries it out
(image/device/oncegate_device/network.py).
"""

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from gateway.broker.server.control.own_password import ConfirmedChanges
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.process import network_settings
from gateway.process.bundle_address import ADDRESS_ALLOWED, is_bundle_address
from gateway.process.files.disk_errors import line_of

DIRECTORY: Final = "card-requests"
"""Name of the directory for requests, next to the control sockets."""
COMMANDS: Final = frozenset(
    {"change_network", "keep_network", "undo_network", "install_update", "go_back"}
)
"""The commands that this module answers. The file of a request has the name of its command."""
SECRETS: Final = frozenset({"wifi_password"})
"""Arguments that are left out of log lines and events."""

Request = dict[str, Any]


class CardRequests:
    """Handlers for commands with which administrators change the system on the SD card.

    All calls must come from the same event loop.
    """

    def __init__(self, authentications: Authentications) -> None:
        """Create the handlers. `authentications` checks the administrators' passwords."""
        self._changes = ConfirmedChanges(authentications, "settings of the card")
        self.directory: Path | None = None
        """The directory of requests, or None before the sockets are open."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Request | Awaitable[Request]]]:
        """Handler functions for the commands about the SD card, keyed by command name."""
        return {
            "change_network": self._change_network,
            "keep_network": self._written_without_arguments,
            "undo_network": self._written_without_arguments,
            "install_update": self._install_update,
            "go_back": self._go_back,
        }

    async def _change_network(self, request: Request) -> Request:
        """Write a request to change the host name and the network settings.

        Raises Refused if a value cannot be used, or if the administrator's password is wrong.
        """
        directory = self._directory_for("change_network")
        try:
            network_settings.change_in(request)
        except network_settings.NetworkSettingsError as error:
            raise Refused("invalid", str(error)) from None
        given = {key: request[key] for key in network_settings.KEYS if key in request}
        async with self._changes.turn(request):
            return _written(directory, "change_network", given)

    async def _install_update(self, request: Request) -> Request:
        """Write a request to install the update bundle at the address `source`.

        Raises Refused if the address cannot be used, or if the administrator's password is wrong.
        """
        directory = self._directory_for("install_update")
        source = text_of(request, "source")
        if not is_bundle_address(source):
            raise Refused("invalid", f"'source' cannot be used: give {ADDRESS_ALLOWED}")
        async with self._changes.turn(request):
            return _written(directory, "install_update", {"source": source})

    async def _go_back(self, request: Request) -> Request:
        """Write a request to boot from the card's inactive slot at the next restart.

        Raises Refused if the administrator's password is wrong.
        """
        directory = self._directory_for("go_back")
        async with self._changes.turn(request):
            return _written(directory, "go_back", {})

    def _written_without_arguments(self, request: Request) -> Request:
        """Write a request that has no arguments.

        No password is needed, because the request only makes a network change permanent or undoes
        it. An administrator has already confirmed the change with a password.
        """
        name = str(request["command"])
        return _written(self._directory_for(name), name, {})

    def _directory_for(self, name: str) -> Path:
        """Return the directory for requests.

        Raises Refused if the gateway does not run from the SD card. The error message contains
        `name`, the name of the command.
        """
        if self.directory is None or not self.directory.is_dir():
            raise Refused(
                "not_a_card", f"{name} is possible only where the gateway runs from the SD card"
            )
        return self.directory


def _written(directory: Path, name: str, given: Mapping[str, Any]) -> Request:
    """Write the request `name` to a temporary file with mode 0640, then rename the file to `name`.

    `given` contains the request's arguments. Raises Refused if an earlier request is still waiting,
    or the file cannot be written.
    """
    file, partial = directory / name, directory / f".{name}.partial"
    if file.exists():
        raise Refused("busy", f"an earlier {name} is being carried out: try again in a moment")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        partial.unlink(missing_ok=True)
        with open(os.open(partial, flags, 0o640), "w", encoding="ascii") as opened:
            json.dump(given, opened)
        partial.rename(file)
    except OSError as error:
        raise Refused("failed", f"{file}: {line_of(error)}") from None
    return {"requested": True}
