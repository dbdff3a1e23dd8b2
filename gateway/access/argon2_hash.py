"""Argon2 hashes in their own text form: what is made here, and what is checked."""

from dataclasses import dataclass

import argon2
from argon2.exceptions import InvalidHashError, VerificationError

# OWASP's smallest recommendation for Argon2id: a Raspberry Pi checks a password in about 50 ms, and
# several clients that connect together do not exhaust its memory.
_HASHER = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


@dataclass(frozen=True, slots=True)
class Argon2Hash:
    """One user's entry."""

    text: str

    @classmethod
    def of(cls, password: bytes | str) -> "Argon2Hash":
        """Return a hash of a password, with a new salt."""
        return cls(_HASHER.hash(password))

    def holds(self, password: bytes) -> bool:
        """Return whether it is the hash of `password`."""
        try:
            return _HASHER.verify(self.text, password)
        except (VerificationError, InvalidHashError):
            return False
