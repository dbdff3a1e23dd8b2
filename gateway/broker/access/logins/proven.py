"""The result of an accepted login, and a version that changes when the login becomes invalid.

The version is computed from the data that authenticated the user: the user's entry in the password
file, the user's row in the database, or the settings for accepting tokens. If this data changes,
the version changes too, and the login is no longer valid.
"""

import hashlib
import hmac
from collections.abc import Iterable

from gateway.broker.core.effects import AuthenticationAnswer

NO_GROUPS: frozenset[str] = frozenset()


class NotKnown(Exception):
    """Error raised if a user source is not responding. The message states the reason."""


class Proven(AuthenticationAnswer):
    """The result that a user source returns when it accepts a login."""

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
        """Name of the user source: its key in the configuration section `[access]`."""
        self.entry = entry
        """The data that authenticates the user.

        It is secret, and only `version_of` and `digest_of` use it.
        """
        self.digest = digest_of(entry if key is None else key)
        """Digest of the credential that the source may revoke while the client is connected.

        The credential is the entry, or the provider's key that signed the token.
        """


def digest_of(entry: bytes) -> bytes:
    """Return a digest of a credential, to be stored while a connection uses the credential.

    The credential itself is not stored.
    """
    return hashlib.sha256(entry).digest()


def version_of(source: str, entry: bytes, key: bytes) -> str:
    """Return the version of a user's entry: 32 hexadecimal digits that change with the entry.

    `source` is the name of the user source. `key` is secret. Without the key, the version reveals
    nothing about the entry.
    """
    # Names of sources do not contain a colon.
    return hmac.digest(key, b"version:%b:%b" % (source.encode(), entry), "sha256")[:16].hex()
