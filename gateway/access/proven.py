"""An accepted login with what proved it, so that the end of the proof can be noticed.

A version is a text that changes with what proved the user: with the entry of the password file, the
row of a database, or the settings by which tokens are accepted.
"""

import hmac
from collections.abc import Iterable

from gateway.core.effects import AuthenticationAnswer

NO_GROUPS: frozenset[str] = frozenset()


class NotKnown(Exception):
    """A source of users does not answer now; the message has the reason."""


class Proven(AuthenticationAnswer):
    """The answer of a source that lets a client in."""

    def __init__(
        self,
        username: str,
        source: str,
        entry: bytes,
        *,
        lifetime_seconds: float | None = None,
        groups: Iterable[str] = NO_GROUPS,
    ) -> None:
        super().__init__(
            0, None, username, lifetime_seconds=lifetime_seconds, groups=frozenset(groups)
        )
        self.source = source
        """The source's key in `[access]`."""
        self.entry = entry
        """What it stands on: a secret, that goes nowhere but into `version_of`."""


def version_of(source: str, entry: bytes, key: bytes) -> str:
    """Return the version of what proved a user, 32 hexadecimal digits.

    Without `key`, a secret, nothing about the entry follows from it.
    """
    # No name of a source has a colon.
    return hmac.digest(key, b"version:%b:%b" % (source.encode(), entry), "sha256")[:16].hex()
