"""The hashes in Mosquitto's password files, as written by mosquitto_passwd::

    $6$salt$hash              a single SHA-512 of the password and the salt
    $7$iterations$salt$hash   PBKDF2 with HMAC-SHA-512

Salt and hash are base64. Oncegate's password file keeps an imported hash until the user gets a new
password. An attacker who steals a `$6$` hash, or a `$7$` hash with the default of 101
iterations, can try passwords thousands of times faster than with an Argon2 hash.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

PREFIXES = ("$6$", "$7$")

ITERATIONS_MAX = 400_000
"""Iterations, at most, to limit the cost of a CONNECT with an imported hash.

400,000 take a second on a Raspberry Pi. mosquitto_passwd writes 101 or 1,000.
"""

SALT_BYTES_MAX = 256
"""Bytes of a salt, at most. Mosquitto writes 12; newer versions write 64."""

HASH_BYTES = hashlib.sha512().digest_size


class MosquittoHashError(ValueError):
    """Error raised if a string is not a Mosquitto hash. The message states the reason."""


@dataclass(frozen=True, slots=True)
class MosquittoHash:
    """A Mosquitto hash of one user's password."""

    iterations: int
    """Iterations of PBKDF2; 0 means a single SHA-512 hash."""
    salt: bytes
    digest: bytes

    def matches(self, password: bytes) -> bool:
        """Return True if `password` matches this hash.

        The time taken does not depend on the result, so the time reveals nothing about the hash.
        """
        if self.iterations:
            found = hashlib.pbkdf2_hmac("sha512", password, self.salt, self.iterations)
        else:
            found = hashlib.sha512(password + self.salt).digest()
        return hmac.compare_digest(found, self.digest)

    def text(self) -> str:
        """Return the hash as written in the password file."""
        kind = f"$7${self.iterations}" if self.iterations else "$6"
        return f"{kind}${_base64_of(self.salt)}${_base64_of(self.digest)}"


def parse(text: str) -> MosquittoHash:
    """Parse a Mosquitto hash. Raises MosquittoHashError if the string is not a valid hash."""
    fields = text.split("$")
    if text.startswith("$6$") and len(fields) == 4:
        iterations = 0
    elif text.startswith("$7$") and len(fields) == 5:
        iterations = _iterations_of(fields[2])
    else:
        raise MosquittoHashError("is neither $6$salt$hash nor $7$iterations$salt$hash")
    try:
        salt, digest = (binascii.a2b_base64(field, strict_mode=True) for field in fields[-2:])
    except (ValueError, UnicodeEncodeError):
        raise MosquittoHashError("salt and hash have to be base64") from None
    if not 1 <= len(salt) <= SALT_BYTES_MAX:
        raise MosquittoHashError(f"the salt has to have 1 to {SALT_BYTES_MAX} bytes")
    if len(digest) != HASH_BYTES:
        raise MosquittoHashError(f"the hash has to have {HASH_BYTES} bytes")
    return MosquittoHash(iterations, salt, digest)


def _iterations_of(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise MosquittoHashError(f"{text[:20]!r} is not a number of iterations")
    iterations = int(text)
    if not 1 <= iterations <= ITERATIONS_MAX:
        raise MosquittoHashError(f"{iterations} iterations: allowed are 1 to {ITERATIONS_MAX}")
    return iterations


def _base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()
