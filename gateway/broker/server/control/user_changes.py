"""The commands `set_password` and `remove_user`: administrators change the password file.

Each change needs the administrator's own password, which is checked like that of a login: a page
that was taken over changes no user by itself. The file is written only where the broker's user may;
elsewhere `oncegate passwd` changes it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.passwords import remove_user, set_password
from gateway.broker.access.proven import Proven
from gateway.broker.access.users import FileUsers
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.broker.wire.codes import SERVER_BUSY, SERVER_UNAVAILABLE
from gateway.configuration import Configuration
from gateway.process.files.disk_errors import line_of

CHANGES_WAITING_MAX: Final = 4
"""Changes that wait for their turn: each hashes a password, a tenth of a second of a processor."""
SECRETS: Final = frozenset({"password", "own_password"})
"""Arguments that are in no log line and in no event."""

Request = dict[str, Any]


class UserChanges:
    """Changes the file, and has it read. Use it from one event loop."""

    def __init__(
        self, authentications: Authentications, reload: Callable[[], dict[str, Any]]
    ) -> None:
        """Set the dependencies. `reload` reads the configuration and its files again."""
        self._authentications = authentications
        self._reload = reload
        self._turn = asyncio.Lock()
        self._waiting = 0
        self.configuration: Configuration | None = None
        """The configuration in force; None: not started."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Awaitable[Request]]]:
        """The commands that are answered here, by name."""
        return {"set_password": self._set_password, "remove_user": self._remove_user}

    async def _set_password(self, request: Request) -> Request:
        """Answer `set_password`. Raises Refused."""
        username, password = text_of(request, "user"), text_of(request, "password")
        iterations = self._scram_iterations_of(username)

        def change(path: Path) -> bool:
            secret = password.encode()
            return set_password(path, username, secret, scram_iterations=iterations)

        return {"added": await self._changed(request, username, change)}

    async def _remove_user(self, request: Request) -> Request:
        """Answer `remove_user`. Raises Refused."""
        username = text_of(request, "user")
        if username == request.get("by"):
            raise Refused("refused", "you cannot remove yourself: another administrator can")
        if not await self._changed(request, username, lambda path: remove_user(path, username)):
            raise Refused("not_found", f"no user {username[:200]!r} in the password file")
        return {"removed": True}

    async def _changed(
        self, request: Request, username: str, change: Callable[[Path], bool]
    ) -> bool:
        path = self._file_for(username)
        if self._waiting >= CHANGES_WAITING_MAX:
            raise Refused("busy", "other users are being changed: try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                await self._confirm(request)
                try:
                    is_changed = await asyncio.to_thread(change, path)
                except OSError as error:
                    raise Refused("read_only", f"{path}: {line_of(error)}") from None
                except (AccessFileError, UnicodeEncodeError) as error:
                    raise Refused("invalid", str(error)) from None
                self._reload()
        finally:
            self._waiting -= 1
        return is_changed

    def _file_for(self, username: str) -> Path:
        """Return the password file. Raises Refused for the bridge's user."""
        configuration = self.configuration
        path = None if configuration is None else configuration.access.password_file
        if configuration is None or path is None:
            raise Refused("refused", "no password file is configured: [access] password_file")
        if username == configuration.bridge.username:
            raise Refused("refused", "this is the bridge's user: its password is in two files")
        return path

    async def _confirm(self, request: Request) -> None:
        """Check the administrator's own password. Raises Refused."""
        if request.get("program") is True:
            raise Refused("forbidden", "users are changed by people, not by programs")
        by, own = text_of(request, "by"), text_of(request, "own_password")
        address = f"{text_of(request, 'from', '')[:64]}:0"
        secret = own.encode("utf-8", "replace")
        answer = await self._authentications.check_page_login(by, secret, address)
        if answer.reason_code in (SERVER_BUSY, SERVER_UNAVAILABLE):
            raise Refused("busy", "passwords cannot be checked now: try again in a moment")
        if not isinstance(answer, Proven) or answer.username != by:
            raise Refused("wrong_password", "your own password is wrong")

    def _scram_iterations_of(self, username: str) -> int | None:
        """Return the iterations of a user with SCRAM keys, who keeps such; None: no such user."""
        source = self._authentications.sources.get("password_file")
        keys = source.file.scram_keys_of(username) if isinstance(source, FileUsers) else None
        return None if keys is None else keys.iterations
