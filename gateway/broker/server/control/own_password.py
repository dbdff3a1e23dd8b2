"""Checks an administrator's own password before users, tokens or card settings are changed.

This password is checked like a password at a login, with the same delays after wrong guesses. An
attacker who controls the status page does not know the password, and therefore cannot make such a
change.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from gateway.broker.access.logins.proven import Proven
from gateway.broker.server.control.refused import Refused, text_of
from gateway.broker.server.event_loop.authentication import Authentications
from gateway.broker.wire.codes import SERVER_BUSY, SERVER_UNAVAILABLE

CHANGES_WAITING_MAX: Final = 4
"""Maximum number of waiting changes to one file. Each change hashes a password, which takes a tenth
of a second of CPU time."""


class ConfirmedChanges:
    """Guard for one kind of change, such as changes to users.

    It allows only one change at a time, and only with the administrator's own password.
    """

    def __init__(self, authentications: Authentications, what: str) -> None:
        """Set the dependencies. `what` is a noun for error messages, such as "users"."""
        self._authentications = authentications
        self._what = what
        self._turn = asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def turn(self, request: dict[str, Any]) -> AsyncIterator[None]:
        """Return a context manager in which the caller may make one change.

        On entry, it waits until earlier changes are complete, and checks the password in `request`.
        It raises Refused if too many changes are waiting, or if `confirm` refuses the request.
        """
        if self._waiting >= CHANGES_WAITING_MAX:
            raise Refused("busy", f"other {self._what} are being changed: try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                await confirm(self._authentications, request, self._what)
                yield
        finally:
            self._waiting -= 1


async def confirm(authentications: Authentications, request: dict[str, Any], what: str) -> None:
    """Check the administrator's own password in a request for a change.

    Args:
        authentications: checks passwords.
        request: contains the administrator's name as `by`, and the password as `own_password`.
        what: a noun for the error message, such as "users".

    Raises:
        Refused: the password is wrong or cannot be checked now, or the caller is a program.
    """
    if request.get("program") is True:
        raise Refused("forbidden", f"only people can change {what}, programs cannot")
    by, own = text_of(request, "by"), text_of(request, "own_password")
    address = f"{text_of(request, 'from', '')[:64]}:0"
    answer = await authentications.check_page_login(by, own.encode("utf-8", "replace"), address)
    if answer.reason_code in (SERVER_BUSY, SERVER_UNAVAILABLE):
        raise Refused("busy", "passwords cannot be checked now: try again in a moment")
    if not isinstance(answer, Proven) or answer.username != by:
        raise Refused("wrong_password", "your own password is wrong")
