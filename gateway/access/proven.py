"""An accepted login with what proved it, so that the end of the proof can be noticed.

A version is a text that changes with what proved the user: with the entry of the password file, the
row of a database, or the settings by which tokens are accepted.
"""

import hashlib
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
        key: bytes | None = None,
    ) -> None:
        super().__init__(
            0, None, username, lifetime_seconds=lifetime_seconds, groups=frozenset(groups)
        )
        self.source = source
        """The source's key in `[access]`."""
        self.entry = entry
        """What it stands on: a secret, that goes nowhere but into `version_of` and `digest_of`."""
        self.digest = digest_of(entry if key is None else key)
        """Of what the source may take back while the client is connected: the entry, or the
        provider's key that has signed its token."""


def digest_of(entry: bytes) -> bytes:
    """Return what is kept of an entry as long as a connection stands on it: not the secret."""
    return hashlib.sha256(entry).digest()


def version_of(source: str, entry: bytes, key: bytes) -> str:
    """Return the version of what proved a user, 32 hexadecimal digits.

    Without `key`, a secret, nothing about the entry follows from it.
    """
    # No name of a source has a colon.
    return hmac.digest(key, b"version:%b:%b" % (source.encode(), entry), "sha256")[:16].hex()
