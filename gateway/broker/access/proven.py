"""An accepted login and its proof, so that the broker notices when the proof is no longer valid.

A version is a text that changes with the proof: with the entry in the password file, the row in the
database, or the settings for accepting tokens.
"""

import hashlib
import hmac
from collections.abc import Iterable

from gateway.broker.core.effects import AuthenticationAnswer

NO_GROUPS: frozenset[str] = frozenset()


class NotKnown(Exception):
    """A source of users does not answer now. The message gives the reason."""


class Proven(AuthenticationAnswer):
    """The answer of a source that accepts a login."""

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
        """The data that proves the user: a secret, used only in `version_of` and `digest_of`."""
        self.digest = digest_of(entry if key is None else key)
        """Digest of what the source may withdraw during the connection: the entry, or the
        provider's key that signed the token."""


def digest_of(entry: bytes) -> bytes:
    """Return a digest of a credential, kept while a connection uses it.

    The secret is not stored.
    """
    return hashlib.sha256(entry).digest()


def version_of(source: str, entry: bytes, key: bytes) -> str:
    """Return the version of a proof, as 32 hexadecimal digits.

    `key` is secret: without it, the version reveals nothing about the entry.
    """
    # Names of sources contain no colon.
    return hmac.digest(key, b"version:%b:%b" % (source.encode(), entry), "sha256")[:16].hex()
