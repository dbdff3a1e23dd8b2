"""Sessions of logged-in browsers, in memory, with limits on their number and duration.

Each browser gets a secret of 256 random bits when it logs in. Only the hash of this secret is
stored, so reading this process's memory does not reveal the secret. Logins are looked up by the
hash, so the duration of a lookup does not help an attacker to guess a secret. The caller provides
the time. This module does no I/O.
"""

import hashlib
import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from api import limits
from api.login.roles import Role


@dataclass(frozen=True)
class Proof:
    """Data with which the broker can check later that a login is still valid.

    The data does not contain the password.
    """

    typed_name: str
    """The user name that was typed; the user database may have another name for the user."""
    address: str
    """The browser's address with its port, because a user query may depend on the address."""
    source: str
    version: str
    """The broker's version of the user's credentials. It changes when the password changes."""


@dataclass(eq=False)
class Login:
    """A logged-in browser. Times are in seconds on a monotonic clock."""

    username: str
    role: Role
    proof: Proof
    form_token: str
    """Token that each form of this browser must contain, so that no other site can send a form."""
    began: float
    used: float
    confirmed: float
    """Time at which the broker last confirmed this version of the credentials."""
    ends: float
    """Time at which the user's credential expires, such as a token of an identity provider."""

    def is_over(self, now: float) -> bool:
        """Return True if the login has expired."""
        idle_seconds, whole_seconds = now - self.used, now - self.began
        return now > self.ends or (
            idle_seconds > limits.LOGIN_IDLE_SECONDS_MAX or whole_seconds > limits.LOGIN_SECONDS_MAX
        )


def secret_text() -> str:
    """Return 256 random bits as 43 characters that are safe in URLs, cookies and HTML."""
    return secrets.token_urlsafe(32)


class Logins:
    """All logins to the web page, keyed by the hashes of the browsers' secrets."""

    def __init__(self) -> None:
        # Least recently used first.
        self._logins: Final[dict[bytes, Login]] = {}

    def __len__(self) -> int:
        """Return the number of logins, including expired ones that have not been removed yet."""
        return len(self._logins)

    def begin(
        self, username: str, role: Role, proof: Proof, now: float, seconds: float | None = None
    ) -> tuple[str, Login]:
        """Log a browser in. Return the browser's secret and the login.

        `proof` lets the broker check later that the login is still valid. The login ends after
        `seconds` at the latest. If `seconds` is None, only the general limits apply.

        If the user already has the maximum number of logins, the user's least recently used login
        ends. If the maximum for all users is reached, the least recently used of all logins ends.
        """
        for key in [key for key, login in self._logins.items() if login.is_over(now)]:
            del self._logins[key]
        own = list(self._of(username))
        if len(own) >= limits.LOGINS_PER_USER_MAX:
            del self._logins[own[0]]
        elif len(self._logins) >= limits.LOGINS_MAX:
            del self._logins[next(iter(self._logins))]
        secret = secret_text()
        ends = math.inf if seconds is None else now + seconds
        times = {"began": now, "used": now, "confirmed": now, "ends": ends}
        login = Login(username, role, proof, secret_text(), **times)
        self._logins[_key_of(secret)] = login
        return secret, login

    def find(self, secret: str, now: float) -> Login | None:
        """Return the login with a browser's secret, and record that it was used at `now`.

        Return None if no valid login has this secret.
        """
        key = _key_of(secret)
        login = self._logins.pop(key, None)
        if login is None or login.is_over(now):
            return None
        login.used = now
        self._logins[key] = login
        return login

    def end(self, secret: str) -> None:
        """End the login with a browser's secret. Do nothing if no login has this secret."""
        self._logins.pop(_key_of(secret), None)

    def end_user(self, username: str) -> None:
        """End all logins of a user."""
        for key in list(self._of(username)):
            del self._logins[key]

    def _of(self, username: str) -> Iterator[bytes]:
        return (key for key, login in self._logins.items() if login.username == username)


def _key_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
