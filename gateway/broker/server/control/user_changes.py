"""The commands `set_password` and `remove_user`, with which administrators edit the password file.

Each change needs the administrator's own password, which is checked like a password at a login.
Therefore an attacker who controls the status page cannot add or remove users, or change their
passwords. A change works only if the broker's process is allowed to write the password file.
Otherwise use `oncegate passwd`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.passwords.file import remove_user, set_password
from gateway.broker.access.users.file import FileUsers
from gateway.broker.server.control.own_password import ConfirmedChanges
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.configuration import Configuration
from gateway.process.files.disk_errors import line_of

SECRETS: Final = frozenset({"password", "own_password"})
"""Arguments that are left out of log lines and events."""

Request = dict[str, Any]


class UserChanges:
    """Handlers for commands that change the password file.

    All calls must come from the same event loop.
    """

    def __init__(
        self, authentications: Authentications, reload: Callable[[], dict[str, Any]]
    ) -> None:
        """Create the handlers. `reload` reads the configuration and its files again."""
        self._authentications = authentications
        self._reload = reload
        self._changes = ConfirmedChanges(authentications, "users")
        self.configuration: Configuration | None = None
        """The current configuration, or None before the start."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Awaitable[Request]]]:
        """Handler functions for the commands that change users, keyed by command name."""
        return {"set_password": self._set_password, "remove_user": self._remove_user}

    async def _set_password(self, request: Request) -> Request:
        """Add a user or change a user's password.

        Raises Refused if the request is not allowed or the file cannot be written.
        """
        username, password = text_of(request, "user"), text_of(request, "password")
        iterations = self._scram_iterations_of(username)

        def change(path: Path) -> bool:
            secret = password.encode()
            return set_password(path, username, secret, scram_iterations=iterations)

        return {"added": await self._changed(request, username, change)}

    async def _remove_user(self, request: Request) -> Request:
        """Remove a user from the password file.

        Raises Refused if the request is not allowed or the user does not exist.
        """
        username = text_of(request, "user")
        if username == request.get("by"):
            raise Refused("impossible", "you cannot remove yourself: another administrator can")
        if not await self._changed(request, username, lambda path: remove_user(path, username)):
            raise Refused("not_found", f"no user {username[:200]!r} in the password file")
        return {"removed": True}

    async def _changed(
        self, request: Request, username: str, change: Callable[[Path], bool]
    ) -> bool:
        path = self._file_for(username)
        async with self._changes.turn(request):
            try:
                is_changed = await asyncio.to_thread(change, path)
            except OSError as error:
                raise Refused("read_only", f"{path}: {line_of(error)}") from None
            except (AccessFileError, UnicodeEncodeError) as error:
                raise Refused("invalid", str(error)) from None
            self._reload()
        return is_changed

    def _file_for(self, username: str) -> Path:
        """Return the path of the password file.

        Raises Refused if `username` is the bridge's user, or if no password file is configured.
        """
        configuration = self.configuration
        path = None if configuration is None else configuration.access.password_file
        if configuration is None or path is None:
            raise Refused("impossible", "no password file is configured: [access] password_file")
        if username == configuration.bridge.username:
            raise Refused("impossible", "this is the bridge's user: its password is in two files")
        return path

    def _scram_iterations_of(self, username: str) -> int | None:
        """Return the SCRAM iteration count of a user, or None if the user has no SCRAM keys."""
        source = self._authentications.sources.get("password_file")
        keys = source.file.scram_keys_of(username) if isinstance(source, FileUsers) else None
        return None if keys is None else keys.iterations
