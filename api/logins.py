"""Who is logged in: sessions of browsers, in memory, bounded in number and time. Pure: the caller
brings the time.

Promise: what a browser holds is 256 random bits, made at each login, of which only a hash is
kept; who reads this process's memory or a dump of it cannot use it. The hash is also the key of the
table: to look one up takes no comparison whose time could show how much of a guess was right.
"""

import hashlib
import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from api import limits
from api.roles import Role


@dataclass(frozen=True)
class Proof:
    """What the broker let a user in for, as far as it has to be asked about it again."""

    asked: str
    """The name that was typed: a source may call the user otherwise."""
    address: str
    """Where the browser was, with its port: a query may depend on it."""
    source: str
    version: str
    """Of what proved the user, as the broker has it."""


@dataclass(eq=False)
class Login:
    """One browser that is logged in; times are seconds of one monotonic clock."""

    username: str
    role: Role
    proof: Proof
    form_token: str
    """What each form of this browser has to bring, so that no other site can send it."""
    began: float
    used: float
    confirmed: float
    """When the broker last had the same version."""
    ends: float
    """When what proved the user does not hold any more, as a token that expires."""

    def is_over(self, now: float) -> bool:
        """Return whether its time has come."""
        idle_seconds, whole_seconds = now - self.used, now - self.began
        return now > self.ends or (
            idle_seconds > limits.LOGIN_IDLE_SECONDS_MAX or whole_seconds > limits.LOGIN_SECONDS_MAX
        )


def secret_text() -> str:
    """Return 256 random bits as 43 characters that need no escaping anywhere."""
    return secrets.token_urlsafe(32)


class Logins:
    """All logins of one page."""

    def __init__(self) -> None:
        # The one that was used longest ago comes first.
        self._logins: Final[dict[bytes, Login]] = {}

    def __len__(self) -> int:
        """Return how many browsers are logged in, or have not been missed yet."""
        return len(self._logins)

    def begin(
        self, username: str, role: Role, proof: Proof, now: float, seconds: float | None = None
    ) -> tuple[str, Login]:
        """Log a browser in; return what it shows from now on, and the login.

        It ends after `seconds` at the latest; None: what proved the user has no end of its own.

        Where a bound is reached, the login that was used longest ago ends: of the same user where
        that has its share, else of all.
        """
        for key in [key for key, login in self._logins.items() if login.is_over(now)]:
            del self._logins[key]
        own = list(self._of(username))
        if len(own) >= limits.LOGINS_PER_USER_MAX:
            del self._logins[own[0]]
        elif len(self._logins) >= limits.LOGINS_MAX:
            del self._logins[next(iter(self._logins))]
        shown = secret_text()
        ends = math.inf if seconds is None else now + seconds
        times = {"began": now, "used": now, "confirmed": now, "ends": ends}
        login = Login(username, role, proof, secret_text(), **times)
        self._logins[_key_of(shown)] = login
        return shown, login

    def find(self, shown: str, now: float) -> Login | None:
        """Return the login of what a browser shows, as used now; None where there is none."""
        key = _key_of(shown)
        login = self._logins.pop(key, None)
        if login is None or login.is_over(now):
            return None
        login.used = now
        self._logins[key] = login
        return login

    def end(self, shown: str) -> None:
        """End one login, where there is one."""
        self._logins.pop(_key_of(shown), None)

    def end_user(self, username: str) -> None:
        """End all logins of a user."""
        for key in list(self._of(username)):
            del self._logins[key]

    def _of(self, username: str) -> Iterator[bytes]:
        return (key for key, login in self._logins.items() if login.username == username)


def _key_of(shown: str) -> bytes:
    return hashlib.sha256(shown.encode("utf-8", "replace")).digest()
