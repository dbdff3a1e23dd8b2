"""Creates and verifies Argon2 hashes in their standard string form."""

from dataclasses import dataclass

import argon2
from argon2.exceptions import InvalidHashError, VerificationError

# OWASP's smallest recommendation for Argon2id: a Raspberry Pi checks a password in about 50 ms, and
# several clients that connect together do not exhaust its memory.
_HASHER = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


@dataclass(frozen=True, slots=True)
class Argon2Hash:
    """An Argon2 hash of one user's password."""

    text: str

    @classmethod
    def of(cls, password: bytes | str) -> "Argon2Hash":
        """Return a new hash of a password, with a new random salt."""
        return cls(_HASHER.hash(password))

    def matches(self, password: bytes) -> bool:
        """Return True if `password` matches this hash."""
        try:
            return _HASHER.verify(self.text, password)
        except (VerificationError, InvalidHashError):
            return False
