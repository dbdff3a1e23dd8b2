"""The commands `add_token` and `remove_token`, with which administrators edit the token file.

A token gives a program a role in the API. Each change needs the administrator's own password. The
status page's process cannot write the file, so it cannot give itself a role. A change works only if
the broker's process is allowed to write the file. Otherwise use `oncegate api-token`.
"""

import asyncio
import datetime
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from gateway.broker.server.control.own_password import ConfirmedChanges
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.configuration import Configuration
from gateway.process.files.disk_errors import line_of
from gateway.process.files.token_file import (
    ROLES,
    Token,
    TokensFileError,
    new_token,
    read_tokens,
    write_tokens,
)

Request = dict[str, Any]
Result = TypeVar("Result")


class TokenChanges:
    """Handlers for commands that change the API's token file.

    All calls must come from the same event loop.
    """

    def __init__(self, authentications: Authentications) -> None:
        """Create the handlers. `authentications` checks the administrators' passwords."""
        self._changes = ConfirmedChanges(authentications, "tokens")
        self.configuration: Configuration | None = None
        """The current configuration, or None before the start."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Awaitable[Request]]]:
        """Handler functions for the commands that change tokens, keyed by command name."""
        return {"add_token": self._add, "remove_token": self._remove}

    async def _add(self, request: Request) -> Request:
        """Add a token to the file, and return the token. It cannot be shown again later.

        Raises Refused if the request is not allowed, a token with this name exists, or the file
        cannot be written.
        """
        name, role = text_of(request, "name"), text_of(request, "token_role")
        if role not in ROLES:
            raise Refused("invalid", f"'token_role' has to be one of {', '.join(ROLES)}")
        today = datetime.datetime.now(datetime.UTC).date().isoformat()

        def change(path: Path) -> str:
            tokens = read_tokens(path) if path.exists() else []
            if any(token.name == name for token in tokens):
                raise Refused(
                    "conflict", f"there is a token {name[:64]!a} already: remove it first"
                )
            text, token = new_token(name, role, today)
            write_tokens(path, [*tokens, token])
            return text

        return {"token": await self._changed(request, change)}

    async def _remove(self, request: Request) -> Request:
        """Remove a token from the file.

        Raises Refused if the request is not allowed, the token does not exist, or the file cannot
        be written.
        """
        name = text_of(request, "name")

        def change(path: Path) -> bool:
            tokens = read_tokens(path)
            kept: list[Token] = [token for token in tokens if token.name != name]
            if len(kept) == len(tokens):
                raise Refused("not_found", f"there is no token {name[:64]!a}")
            write_tokens(path, kept)
            return True

        return {"removed": await self._changed(request, change)}

    async def _changed(self, request: Request, change: Callable[[Path], Result]) -> Result:
        """Check the administrator's password, then call `change` and return its result.

        `change` runs in a thread and receives the path of the token file. Raises Refused if the
        password is wrong or the file cannot be changed.
        """
        path = None if self.configuration is None else self.configuration.api.tokens_file
        if path is None:
            raise Refused("read_only", "no file of tokens is configured: [api] tokens_file")
        async with self._changes.turn(request):
            try:
                return await asyncio.to_thread(change, path)
            except OSError as error:
                raise Refused("read_only", f"{path}: {line_of(error)}") from None
            except TokensFileError as error:
                raise Refused("invalid", str(error)) from None
