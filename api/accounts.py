"""Asks the broker whether a password is the user's, and whether it still is.

Promise: passwords go to the broker over connections of their own, so that no other question waits
for one; one address has at most ``LOGIN_CHECKS_PER_ADDRESS_MAX`` of them under way, all together
``LOGIN_CHECKS_MAX``. Nothing is kept of a password and nothing is logged of it.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from api import limits
from api.control_socket import BrokerProblem, ControlSocket
from api.logins import Login
from api.visitors import origin_of
from gateway.control.messages import Refused

_VERSIONS_DIFFER: Final = BrokerProblem(
    "The broker cannot be asked about users.",
    "The broker and this page are probably of different versions: restart both after an update.",
    status_code=502,
)


class TooManyLogins(Exception):
    """A password cannot be checked now, for all that are being checked."""


class Accounts:
    """The broker's users; belongs to one event loop."""

    def __init__(self, path: Path) -> None:
        self._idle: Final = [
            ControlSocket(path, answer_seconds_max=limits.LOGIN_ANSWER_SECONDS_MAX)
            for _ in range(limits.LOGIN_CHECKS_MAX)
        ]
        self._all: Final = tuple(self._idle)
        self._versions: Final = ControlSocket(path)
        self._under_way: Final[Counter[str]] = Counter()

    async def check(
        self, username: str, password: str, client: tuple[str, int]
    ) -> tuple[str, str | None] | None:
        """Return the user and the version of the password; None where it is not the user's.

        Raises:
            BrokerProblem: the broker gave no usable answer.
            TooManyLogins: from this address, or at all.
        """
        with self._turn_of(client[0]) as control_socket:
            try:
                answer = await control_socket.request(
                    {
                        "command": "authenticate",
                        "username": username,
                        "password": password,
                        "address": _address_of(client),
                    }
                )
            except Refused as refusal:
                if refusal.code == "busy":
                    raise TooManyLogins from None
                raise _VERSIONS_DIFFER.again() from None
        match answer:
            case {"ok": True, "username": str(name), "version": str() | None as version}:
                return name, version
            case {"ok": False}:
                return None
        raise _VERSIONS_DIFFER.again()

    async def still_holds(self, login: Login, now: float) -> bool:
        """Return whether the user's password is the one of the login, as of a few seconds ago.

        A broker that does not answer knows no other password either: what it acknowledged as
        changed it knows again when it is back.
        """
        if now - login.confirmed < limits.LOGIN_CONFIRMED_SECONDS:
            return True
        try:
            answer = await self._versions.request({"command": "user", "username": login.username})
        except BrokerProblem:
            return True
        except Refused:
            return False
        if answer.get("version") != login.version:
            return False
        login.confirmed = now
        return True

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        for each in (*self._all, self._versions):
            each.close()

    @contextlib.contextmanager
    def _turn_of(self, host: str) -> Iterator[ControlSocket]:
        origin = origin_of(host)
        if not self._idle or self._under_way[origin] >= limits.LOGIN_CHECKS_PER_ADDRESS_MAX:
            raise TooManyLogins
        control_socket = self._idle.pop()
        self._under_way[origin] += 1
        try:
            yield control_socket
        finally:
            self._idle.append(control_socket)
            self._under_way[origin] -= 1
            if self._under_way[origin] == 0:
                del self._under_way[origin]


def _address_of(client: tuple[str, int]) -> str:
    host, port = client
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
