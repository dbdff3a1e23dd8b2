"""Client for the broker's user authentication.

The broker checks the passwords of visitors, and later whether their logins are still valid.

Passwords are sent over separate connections, so that no other request waits for a password check.
At most ``LOGIN_CHECKS_PER_ADDRESS_MAX`` checks for one address, and ``LOGIN_CHECKS_MAX`` checks in
total, can be in progress. Passwords are neither stored nor logged.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from api import limits
from api.connections.visitors import origin_of
from api.login.logins import Login, Proof
from api.status.control_socket import BrokerProblem, ControlSocket
from gateway.process.control.messages import Refused

_VERSIONS_DIFFER: Final = BrokerProblem(
    "The broker cannot be asked about users.",
    "The broker and this page are probably of different versions: restart both after an update.",
    status_code=502,
)


class TooManyLogins(Exception):
    """Error that is raised if a login is rejected because too many passwords are being checked."""


_NOT_NOW: Final = BrokerProblem(
    "The broker cannot check users now: a database or an identity provider does not answer.",
    "Its status and its log say which; try again when it answers.",
)


@dataclass(frozen=True)
class Account:
    """An authenticated user, with a proof that lets the broker check the login again later."""

    username: str
    groups: frozenset[str]
    proof: Proof
    seconds: float | None
    """Seconds for which the proof is valid, or None if it does not expire."""


class Accounts:
    """Client for user authentication by the broker. Use an instance in only one event loop."""

    def __init__(self, path: Path) -> None:
        self._idle: Final = [
            ControlSocket(path, answer_seconds_max=limits.LOGIN_ANSWER_SECONDS_MAX)
            for _ in range(limits.LOGIN_CHECKS_MAX)
        ]
        self._all: Final = tuple(self._idle)
        self._versions: Final = ControlSocket(path)
        self._in_progress: Final[Counter[str]] = Counter()

    async def check(self, username: str, password: str, client: tuple[str, int]) -> Account | None:
        """Check a password. Return the user, or None if the password is wrong.

        `client` is the IP address and the port of the browser.

        Raises:
            BrokerProblem: the broker gave no usable response, or cannot reach its user database.
            TooManyLogins: too many checks are in progress, from this address or in total.
        """
        address = _address_of(client)
        with self._turn_of(client[0]) as control_socket:
            try:
                answer = await control_socket.request(
                    {
                        "command": "authenticate",
                        "username": username,
                        "password": password,
                        "address": address,
                    }
                )
            except Refused as refusal:
                if refusal.code == "busy":
                    raise TooManyLogins from None
                if refusal.code == "unavailable":
                    raise _NOT_NOW.again() from None
                raise _VERSIONS_DIFFER.again() from None
        if answer.get("ok") is False:
            return None
        return _account_of(answer, username, address)

    async def still_holds(self, login: Login, now: float) -> bool:
        """Return True if a login is still valid. The broker is queried at most every few seconds.

        A change of the user's password ends the login. If the broker or its user database does not
        respond, the login stays valid until they respond again. MQTT clients also stay connected
        in this case.
        """
        if now - login.confirmed < limits.LOGIN_CONFIRMED_SECONDS:
            return True
        proof = login.proof
        question = {"username": proof.typed_name, "source": proof.source, "address": proof.address}
        try:
            answer = await self._versions.request({"command": "user", **question})
        except BrokerProblem:
            return True
        except Refused as refusal:
            return refusal.code == "unavailable"
        if answer.get("version") != proof.version:
            return False
        login.confirmed = now
        return True

    def close(self) -> None:
        """Close all connections to the broker. Later requests open new connections."""
        for each in (*self._all, self._versions):
            each.close()

    @contextlib.contextmanager
    def _turn_of(self, host: str) -> Iterator[ControlSocket]:
        origin = origin_of(host)
        if not self._idle or self._in_progress[origin] >= limits.LOGIN_CHECKS_PER_ADDRESS_MAX:
            raise TooManyLogins
        control_socket = self._idle.pop()
        self._in_progress[origin] += 1
        try:
            yield control_socket
        finally:
            self._idle.append(control_socket)
            self._in_progress[origin] -= 1
            if self._in_progress[origin] == 0:
                del self._in_progress[origin]


def _account_of(answer: dict[str, Any], typed_name: str, address: str) -> Account:
    """Return the user described by the broker's response.

    `typed_name` is the user name from the login form, and `address` is the browser's address.
    Raises BrokerProblem if the response is invalid.
    """
    match answer:
        case {
            "ok": True,
            "username": str(name),
            "source": str(source),
            "version": str(version),
            "groups": list(groups),
            "seconds": int() | float() | None as seconds,
        } if all(isinstance(group, str) for group in groups):
            proof = Proof(typed_name, address, source, version)
            return Account(name, frozenset(groups), proof, seconds)
    raise _VERSIONS_DIFFER.again()


def _address_of(client: tuple[str, int]) -> str:
    host, port = client
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
