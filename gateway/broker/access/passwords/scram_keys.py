"""SCRAM-SHA-256 keys of a password (RFC 5802 section 3, RFC 7677), and their string form::

    {SCRAM-SHA-256}iterations:salt:StoredKey:ServerKey

Salt and keys are base64. These keys can verify a client's proof but cannot create a proof. An
attacker who has stolen a line can test guesses against it. Each guess costs `iterations` rounds of
hashing.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from functools import lru_cache

from gateway.broker.access.passwords.saslprep import Unprepared, prepared_of

PREFIX = "{SCRAM-SHA-256}"

# RFC 7677 section 4: at least 4096. 15,000 take a modern machine 0.1 s, and a microcontroller that
# computes them for each connection a second or two.
ITERATIONS_MIN = 4_096
ITERATIONS_DEFAULT = 15_000
# Limit on the cost of a CONNECT with a plain password and an imported line: a second on a Raspberry
# Pi. OWASP recommends this number for PBKDF2 with SHA-256.
ITERATIONS_MAX = 600_000

SALT_BYTES = 16
"""Bytes of a new salt, and of the invented salt for an unknown user."""
SALT_BYTES_MIN = 8
SALT_BYTES_MAX = 64
EMPTY_CHECKED_MAX = 10_000
"""Cached results of checks for empty passwords, at most: about 3 MB."""

KEY_BYTES = hashlib.sha256().digest_size


class ScramKeysError(ValueError):
    """Error raised if a SCRAM-SHA-256 entry is invalid. The message states the reason."""


@dataclass(frozen=True, slots=True)
class ScramKeys:
    """SCRAM keys of one user's password."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def matches(self, password: bytes) -> bool:
        """Return True if `password` matches these keys.

        The time taken does not depend on the result, so the time reveals nothing about the keys.
        """
        try:
            text = prepared_of(password.decode(), stored=False)
            is_possible = bool(text)
        except (UnicodeDecodeError, Unprepared):
            text, is_possible = "", False
        stored_key, _ = _derived(text, salt=self.salt, iterations=self.iterations)
        return hmac.compare_digest(stored_key, self.stored_key) and is_possible

    def text(self) -> str:
        """Return the keys as written in the password file."""
        parts = (_base64_of(part) for part in (self.salt, self.stored_key, self.server_key))
        return f"{PREFIX}{self.iterations}:{':'.join(parts)}"


def keys_of(password: str, *, salt: bytes, iterations: int) -> ScramKeys:
    """Return the keys of a password. Raises Unprepared if RFC 4013 forbids the password."""
    stored_key, server_key = _derived(
        prepared_of(password, stored=True), salt=salt, iterations=iterations
    )
    return ScramKeys(iterations, salt, stored_key, server_key)


@lru_cache(maxsize=EMPTY_CHECKED_MAX)
def are_of_empty_password(keys: ScramKeys) -> bool:
    """Return True if the keys were derived from an empty password.

    A user with an empty password is always rejected. This check takes as long as a password check,
    so its result is cached.
    """
    stored_key, _ = _derived("", salt=keys.salt, iterations=keys.iterations)
    return hmac.compare_digest(stored_key, keys.stored_key)


def parse(text: str) -> ScramKeys:
    """Parse an entry of the password file. Raises ScramKeysError if the entry is invalid."""
    fields = text.removeprefix(PREFIX).split(":")
    if not text.startswith(PREFIX) or len(fields) != 4:
        raise ScramKeysError(f"is not {PREFIX}iterations:salt:StoredKey:ServerKey")
    if not fields[0].isascii() or not fields[0].isdigit() or len(fields[0]) > 9:
        raise ScramKeysError(f"{fields[0][:20]!r} is not a number of iterations")
    iterations = int(fields[0])
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise ScramKeysError(
            f"{iterations} iterations: allowed are {ITERATIONS_MIN} to {ITERATIONS_MAX}"
        )
    try:
        salt, stored_key, server_key = (bytes_of(field) for field in fields[1:])
    except ValueError:
        raise ScramKeysError("salt and keys have to be base64") from None
    if not SALT_BYTES_MIN <= len(salt) <= SALT_BYTES_MAX:
        raise ScramKeysError(f"the salt has to have {SALT_BYTES_MIN} to {SALT_BYTES_MAX} bytes")
    if len(stored_key) != KEY_BYTES or len(server_key) != KEY_BYTES:
        raise ScramKeysError(f"each key has to have {KEY_BYTES} bytes")
    return ScramKeys(iterations, salt, stored_key, server_key)


def bytes_of(text: str) -> bytes:
    """Decode strict base64. Raises ValueError if `text` is not valid base64."""
    return binascii.a2b_base64(text, strict_mode=True)


def _base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _derived(password: str, *, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
    """Return StoredKey and ServerKey for a password (RFC 5802 section 3)."""
    salted_password = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client_key = hmac.digest(salted_password, b"Client Key", "sha256")
    server_key = hmac.digest(salted_password, b"Server Key", "sha256")
    return hashlib.sha256(client_key).digest(), server_key
