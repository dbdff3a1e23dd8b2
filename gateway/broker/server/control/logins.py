"""Commands with which the status page checks passwords and detects changed credentials.

The status page has no passwords of its own: people log in to it as users of the broker. Checking a
password for the status page takes as much CPU time as checking one for an MQTT client. Both kinds
of checks wait in the same queue.
"""

import asyncio
from typing import Any

from gateway.broker.access.logins.proven import NotKnown, Proven, version_of
from gateway.broker.access.passwords.lines import PASSWORD_BYTES_MAX, USERNAME_BYTES_MAX
from gateway.broker.access.users.file import FileUsers
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.broker.wire.codes import SERVER_BUSY, SERVER_UNAVAILABLE

PAGE_CHECKS_MAX = 8
"""Maximum number of logins at the status page that are being checked or queued. They share the
queue with MQTT clients. Further people are asked to try again."""

ADDRESS_BYTES_MAX = 128
"""Maximum length of an address. An IPv6 address with a zone and a port takes 80 bytes."""

SOURCE_BYTES_MAX = 64
"""Maximum length of the name of a user source, which is a key in `[access]`."""

Request = dict[str, Any]


class LoginCommands:
    """Handlers for the commands `authenticate` and `user`, which the status page sends."""

    def __init__(self, authentications: Authentications, version_key: bytes) -> None:
        """Set the dependencies.

        `version_key` is a secret key. The version of a user's credentials is computed with it, so
        it must stay the same across restarts.
        """
        self._authentications = authentications
        self._version_key = version_key
        self._checks: set[asyncio.Task[AuthenticationAnswer]] = set()

    async def authenticate(self, request: Request) -> dict[str, Any]:
        """Check a user's password or token.

        The answer states whether the password or token is valid. If so, it contains the user's
        groups and the version of the credentials. The version changes when the credentials change.

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
        """Return the version of a user's credentials (command `user`).

        The version changes when the credentials change. It is None if the user does not exist.

        Raises:
            Refused: the request is invalid, or the user source is not available.
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
        """Cancel all running login checks for the status page."""
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
