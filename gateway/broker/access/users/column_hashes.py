"""Parses password hashes from a database column, and verifies passwords against them.

Most forms are recognised by their prefix: Argon2 (`$argon2id$`), bcrypt (`$2b$`), Mosquitto's `$6$`
and `$7$`, and Oncegate's SCRAM keys. Hexadecimal digests have no prefix, so the configuration
states the algorithm.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final, Literal

import bcrypt

from gateway.broker.access.passwords.lines import PasswordFileError, parse
from gateway.broker.access.passwords.worker import PasswordHash

Kind = Literal["by_form", "sha256", "sha512", "pbkdf2-sha256", "pbkdf2-sha512"]

BCRYPT_COST_MAX: Final = 13
"""Highest accepted bcrypt cost. Each step doubles the time; 13 takes a Raspberry Pi 1 to 2 s."""

BCRYPT_PASSWORD_BYTES: Final = 72
"""Bytes of a password that bcrypt uses.

The program that created the hash ignored the rest as well.
"""

HASH_CHARACTERS_MAX: Final = 1_024
SALT_BYTES_MAX: Final = 256

_BCRYPT = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}")
_USER = b"user:"


class HashRefused(ValueError):
    """Error raised if a column contains no supported hash. The message does not quote the value."""


@dataclass(frozen=True, slots=True)
class BcryptHash:
    """A bcrypt hash in its standard string form."""

    text: str

    def matches(self, password: bytes) -> bool:
        """Return True if `password` matches this hash. bcrypt ignores bytes after the 72nd."""
        found = bcrypt.hashpw(password[:BCRYPT_PASSWORD_BYTES], self.text.encode())
        return hmac.compare_digest(found, self.text.encode())


@dataclass(frozen=True, slots=True)
class Digest:
    """A SHA-2 digest of a password, either plain or derived with PBKDF2."""

    name: Literal["sha256", "sha512"]
    iterations: int
    """Iterations of PBKDF2; 0 means a single SHA-2 hash."""
    before: bytes
    """Bytes hashed before the password, or the salt of PBKDF2."""
    after: bytes
    digest: bytes

    def matches(self, password: bytes) -> bool:
        """Return True if `password` matches this hash."""
        if self.iterations:
            found = hashlib.pbkdf2_hmac(self.name, password, self.before, self.iterations)
        else:
            found = hashlib.new(self.name, self.before + password + self.after).digest()
        return hmac.compare_digest(found, self.digest)


@dataclass(frozen=True, slots=True)
class HashRules:
    """Format of the hash column: the algorithm, the position of the salt, and the iterations."""

    kind: Kind = "by_form"
    salt_position: Literal["before", "after", "none"] = "before"
    iterations: int = 0

    def parse(self, text: object, salt: object) -> PasswordHash:
        """Return the password hash in a database row.

        `text` is the value of the column `password_hash`, and `salt` the value of the column
        `salt`. Raises HashRefused if the values are not a supported hash.
        """
        written = text.decode("ascii", "replace") if isinstance(text, bytes) else text
        if not isinstance(written, str) or not 1 <= len(written) <= HASH_CHARACTERS_MAX:
            raise HashRefused(f"password_hash is not a text of 1 to {HASH_CHARACTERS_MAX}")
        if self.kind == "by_form":
            return _by_form(written)
        return self._digest_of(written, _salt_of(salt))

    def _digest_of(self, written: str, salt: bytes) -> Digest:
        name: Literal["sha256", "sha512"] = "sha256" if self.kind.endswith("256") else "sha512"
        try:
            digest = bytes.fromhex(written)
        except ValueError:
            raise HashRefused("password_hash is not hexadecimal") from None
        if len(digest) != hashlib.new(name).digest_size:
            raise HashRefused(f"password_hash has not the length of {name}")
        if self.iterations:
            return Digest(name, self.iterations, salt, b"", digest)
        before = salt if self.salt_position == "before" else b""
        after = salt if self.salt_position == "after" else b""
        return Digest(name, 0, before, after, digest)


def _by_form(written: str) -> PasswordHash:
    found = _BCRYPT.fullmatch(written)
    if found is not None:
        if int(found[1]) > BCRYPT_COST_MAX:
            raise HashRefused(f"bcrypt with a cost of {found[1]}, at most {BCRYPT_COST_MAX}")
        return BcryptHash(written)
    try:
        user_and_entry = parse(_USER + written.encode("ascii"), "password_hash")
    except (PasswordFileError, UnicodeEncodeError):
        raise HashRefused("password_hash has no form that is known, or costs too much") from None
    assert user_and_entry is not None
    return user_and_entry[1]


def _salt_of(salt: object) -> bytes:
    if salt is None:
        return b""
    written = salt.encode() if isinstance(salt, str) else salt
    if not isinstance(written, bytes) or len(written) > SALT_BYTES_MAX:
        raise HashRefused(f"salt is not a text of at most {SALT_BYTES_MAX} bytes")
    return written
