"""The commands `add_token` and `remove_token`: administrators change the tokens of programs.

Each change needs the administrator's own password. The page itself cannot write the file, so it
cannot give itself a role. The file is written only where the broker's user may; elsewhere
`oncegate api-token` changes it.
"""

import asyncio
import datetime
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from gateway.broker.server.control.own_password import confirm
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

CHANGES_WAITING_MAX: Final = 4
"""Changes that wait for their turn, at most: each checks a password."""

Request = dict[str, Any]
Result = TypeVar("Result")


class TokenChanges:
    """Changes the file of tokens. Use it from one event loop."""

    def __init__(self, authentications: Authentications) -> None:
        """Set the dependency that checks the passwords of administrators."""
        self._authentications = authentications
        self._turn = asyncio.Lock()
        self._waiting = 0
        self.configuration: Configuration | None = None
        """The configuration in force, or None before the start."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Awaitable[Request]]]:
        """The commands that are answered here, by name."""
        return {"add_token": self._add, "remove_token": self._remove}

    async def _add(self, request: Request) -> Request:
        """Answer `add_token` with the new token, which is shown only once. Raises Refused."""
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
        """Answer `remove_token`. Raises Refused."""
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
        """Change the file after the password was checked. Raises Refused."""
        path = None if self.configuration is None else self.configuration.api.tokens_file
        if path is None:
            raise Refused("read_only", "no file of tokens is configured: [api] tokens_file")
        if self._waiting >= CHANGES_WAITING_MAX:
            raise Refused("busy", "other tokens are being changed: try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                await confirm(self._authentications, request, "tokens")
                return await asyncio.to_thread(change, path)
        except OSError as error:
            raise Refused("read_only", f"{path}: {line_of(error)}") from None
        except TokensFileError as error:
            raise Refused("invalid", str(error)) from None
        finally:
            self._waiting -= 1
