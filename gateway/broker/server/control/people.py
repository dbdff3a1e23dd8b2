"""Logins at the status page: checks passwords, and whether the proof of a login is still valid.

The page has no passwords of its own: the broker's users count. A password check costs the same as
for an MQTT client, and waits in the same queue.
"""

import asyncio
from typing import Any

from gateway.broker.access.password_lines import PASSWORD_BYTES_MAX, USERNAME_BYTES_MAX
from gateway.broker.access.proven import NotKnown, Proven, version_of
from gateway.broker.access.users import FileUsers
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.broker.wire.codes import SERVER_BUSY, SERVER_UNAVAILABLE

PAGE_CHECKS_MAX = 8
"""Passwords of people being checked or queued, at most: clients use the same queue. A further
person is asked to try again."""

ADDRESS_BYTES_MAX = 128
"""An IPv6 address with a zone and a port takes 80."""

SOURCE_BYTES_MAX = 64
"""The names of sources of users are keys of `[access]`."""

Request = dict[str, Any]


class People:
    """Answers the requests `authenticate` and `user`."""

    def __init__(self, authentications: Authentications, version_key: bytes) -> None:
        """Set the dependencies.

        `version_key` is a secret that must stay the same across restarts.
        """
        self._authentications = authentications
        self._version_key = version_key
        self._checks: set[asyncio.Task[AuthenticationAnswer]] = set()

    async def authenticate(self, request: Request) -> dict[str, Any]:
        """Check a user's password or token.

        Return the result, the user's groups and the proof's version.

        Raises:
            Refused: the request is invalid, or cannot be answered now.
        """
        username = _bounded(request, "username", USERNAME_BYTES_MAX)
        password = _bounded(request, "password", PASSWORD_BYTES_MAX)
        address = _bounded(request, "address", ADDRESS_BYTES_MAX)
        answer = await self._checked(username, password.encode(), address)
        if answer.reason_code == SERVER_BUSY:
            raise Refused("busy", "too many passwords are being checked: try again in a moment")
        if answer.reason_code == SERVER_UNAVAILABLE:
            raise Refused("unavailable", answer.detail)
        if not isinstance(answer, Proven):
            return {"ok": False, "username": None, "version": None}
        return {
            "ok": True,
            "username": answer.username,
            "source": answer.source,
            "version": version_of(answer.source, answer.entry, self._version_key),
            "groups": sorted(answer.groups),
            "seconds": answer.lifetime_seconds,
        }

    async def user(self, request: Request) -> dict[str, Any]:
        """Return the version of a user's current proof; None if there is no such user.

        Raises:
            Refused: the request is invalid, or the source does not answer.
        """
        username = _bounded(request, "username", USERNAME_BYTES_MAX)
        source = _bounded(request, "source", SOURCE_BYTES_MAX, FileUsers.name)
        address = _bounded(request, "address", ADDRESS_BYTES_MAX, "")
        try:
            entry = await self._authentications.entry_of_page_user(source, username, address)
        except NotKnown as error:
            raise Refused("unavailable", str(error)) from None
        version = None if entry is None else version_of(source, entry, self._version_key)
        return {"version": version}

    def stop(self) -> None:
        """Cancel the checks that are waiting."""
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


def _bounded(request: Request, key: str, bytes_max: int, default: str | None = None) -> str:
    text = text_of(request, key, default)
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:
        raise Refused("bad_request", f"'{key}' has half of a surrogate pair") from None
    if size_bytes > bytes_max:
        raise Refused("bad_request", f"'{key}' has at most {bytes_max} bytes")
    return text
