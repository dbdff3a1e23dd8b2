"""People at the status page: is the password the user's, and is it still the same one?

The page keeps no passwords: one list of users counts, the broker's. What a password costs to check,
and who has to wait for it, is the same as for a client of MQTT.
"""

import asyncio
from typing import Any

from gateway.access.passwords import PASSWORD_BYTES_MAX, USERNAME_BYTES_MAX
from gateway.core.effects import AuthenticationAnswer
from gateway.core.violation import SERVER_BUSY
from gateway.server.control.refused import Refused, text_of
from gateway.server.event_loop.authentication import Authentications

PAGE_CHECKS_MAX = 8
"""Passwords of people that are checked or wait at a time: clients wait in the same line, and one
person more is answered to try again."""

ADDRESS_BYTES_MAX = 128
"""An address of IPv6 with a zone and a port takes 80."""

Request = dict[str, Any]


class People:
    """Answers `authenticate` and `user`."""

    def __init__(self, authentications: Authentications, version_key: bytes) -> None:
        """`version_key` is a secret that stays the same over a restart."""
        self._authentications = authentications
        self._version_key = version_key
        self._checks: set[asyncio.Task[AuthenticationAnswer]] = set()

    @property
    def check_count(self) -> int:
        """How many passwords are checked or wait."""
        return len(self._checks)

    async def authenticate(self, request: Request) -> dict[str, Any]:
        """Return whether the password is the user's, and the version of it that was right.

        Raises:
            Refused: it cannot be asked like this, or not now.
        """
        username = _bounded(request, "username", USERNAME_BYTES_MAX)
        password = _bounded(request, "password", PASSWORD_BYTES_MAX)
        address = _bounded(request, "address", ADDRESS_BYTES_MAX)
        # Before the check: a password that is changed meanwhile has another version.
        version = self._version_of(username)
        answer = await self._checked(username, password.encode(), address)
        if answer.reason_code == SERVER_BUSY:
            raise Refused("busy", "too many passwords are being checked: try again in a moment")
        if answer.reason_code != 0:
            return {"ok": False, "username": None, "version": None}
        # Of another name than the one that was given no version is known.
        known = version if answer.username == username else None
        return {"ok": True, "username": answer.username, "version": known}

    def user(self, request: Request) -> dict[str, Any]:
        """Return the version of a user's password; None where there is no such user."""
        return {"version": self._version_of(_bounded(request, "username", USERNAME_BYTES_MAX))}

    def stop(self) -> None:
        """Give up the checks that wait."""
        for check in list(self._checks):
            check.cancel()

    async def _checked(self, username: str, password: bytes, address: str) -> AuthenticationAnswer:
        if len(self._checks) >= PAGE_CHECKS_MAX:
            return AuthenticationAnswer(SERVER_BUSY, None, None)
        check = asyncio.ensure_future(
            self._authentications.check_page_login(username, password, address)
        )
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)
        return await check

    def _version_of(self, username: str) -> str | None:
        users = self._authentications.users
        return None if users is None else users.version_of(username, self._version_key)


def _bounded(request: Request, key: str, bytes_max: int) -> str:
    text = text_of(request, key)
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:
        raise Refused("bad_request", f"'{key}' has half of a surrogate pair") from None
    if size_bytes > bytes_max:
        raise Refused("bad_request", f"'{key}' has at most {bytes_max} bytes")
    return text
