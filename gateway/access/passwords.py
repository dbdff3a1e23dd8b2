"""The password file: one `user:entry` a line, replaced whole or not at all::

    # comments and empty lines are kept apart from users
    sensor-1:$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$...
    sensor-2:{SCRAM-SHA-256}15000:c2FsdHNhbHQ=:StoredKey:ServerKey

An Argon2id hash serves clients that send their password. SCRAM keys serve those as well as clients
that prove that they know it (gateway/access/scram.py).

`verify` costs tens of milliseconds of CPU and 19 MiB of memory on purpose: its caller runs it in a
thread. Passwords themselves are never kept, shown or logged.
"""

import hmac
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import argon2
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from gateway.access import scram_keys
from gateway.access.errors import AccessFileError
from gateway.access.saslprep import Unprepared, prepared_of
from gateway.access.scram_keys import ScramKeys, ScramKeysError
from gateway.files.durable import replace_durably

# OWASP's smallest recommendation for Argon2id: a Raspberry Pi checks a password in about 50 ms, and
# several clients that connect together do not exhaust its memory.
_HASHER = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# What a password file from elsewhere may cost for one CONNECT.
MEMORY_COST_KIB_MAX = 262_144
TIME_COST_MAX = 20
FILE_BYTES_MAX = 16 << 20
USERNAME_BYTES_MAX = 1024
PASSWORD_BYTES_MAX = 65_535

_USERNAME = re.compile(r"[^:#\x00-\x1f\x7f][^:\x00-\x1f\x7f]*")


class PasswordFileError(AccessFileError):
    """The password file cannot be used; the message names the file, the line and the mend."""


class PasswordFile:
    """Users and what is kept of their passwords; immutable once loaded."""

    def __init__(self, entries: Mapping[str, str | ScramKeys]) -> None:
        self._entries = dict(entries)
        iterations = Counter(
            entry.iterations for entry in entries.values() if isinstance(entry, ScramKeys)
        )
        self._has_scram_keys = bool(iterations)
        self.usual_scram_iterations = max(
            iterations, key=iterations.__getitem__, default=scram_keys.ITERATIONS_DEFAULT
        )
        """What most users with SCRAM keys have."""
        _decoy_hash()  # now, and not while the first client that needs it waits

    @classmethod
    def load(cls, path: Path) -> "PasswordFile":
        """Read the file. Raises PasswordFileError with the line that is wrong."""
        try:
            with path.open("rb") as file:
                content = file.read(FILE_BYTES_MAX + 1)
                mode = os.fstat(file.fileno()).st_mode
        except OSError as error:
            mend = f"make it with: oncegate passwd {path} USER"
            raise PasswordFileError(f"{path}: cannot be read: {error.strerror}; {mend}") from error
        if len(content) > FILE_BYTES_MAX:
            raise PasswordFileError(f"{path}: longer than {FILE_BYTES_MAX} bytes")
        if mode & stat.S_IWOTH:
            raise PasswordFileError(f"{path}: every user may write to it; mend: chmod 600 {path}")
        entries: dict[str, str | ScramKeys] = {}
        for number, line in enumerate(content.split(b"\n"), start=1):
            user_and_entry = _parse(line, f"{path}: line {number}")
            if user_and_entry is None:
                continue
            user, entry = user_and_entry
            if user in entries:
                raise PasswordFileError(f"{path}: line {number}: {user!r} stands here twice")
            entries[user] = entry
        return cls(entries)

    @property
    def usernames(self) -> frozenset[str]:
        """The names that the file knows."""
        return frozenset(self._entries)

    def differs_from(self, other: "PasswordFile") -> bool:
        """Return whether there are other users, or other passwords."""
        return self._entries != other._entries

    def revoked_since(self, before: "PasswordFile") -> frozenset[str]:
        """Return the users of `before` that are gone, or have another password."""
        return frozenset(user for user in before._entries if not self.has_same_entry(before, user))

    def has_same_entry(self, other: "PasswordFile", username: str) -> bool:
        """Return whether what is kept of a user's password is the same in both."""
        return self._entries.get(username) == other._entries.get(username)

    def version_of(self, username: str, key: bytes) -> str | None:
        """Return a text that changes with the user's entry, 32 hexadecimal digits; None: no such
        user. Without `key`, a secret, nothing about the entry follows from it."""
        entry = self._entries.get(username)
        if entry is None:
            return None
        text = entry if isinstance(entry, str) else entry.text()
        # No user name has a colon.
        return hmac.digest(key, f"version:{username}:{text}".encode(), "sha256")[:16].hex()

    def scram_keys_of(self, username: str) -> ScramKeys | None:
        """Return the user's SCRAM keys, or None without."""
        entry = self._entries.get(username)
        return entry if isinstance(entry, ScramKeys) else None

    def verify(self, username: str, password: bytes) -> bool:
        """Return whether `password` is the one of `username`.

        Names of every kind, also those that do not exist, cost the same: the time taken does not
        show which is which.
        """
        entry = self._entries.get(username)
        password_hash = entry if isinstance(entry, str) else _decoy_hash()
        matches_hash = _matches(password_hash, password)
        if self._has_scram_keys:
            keys = entry if isinstance(entry, ScramKeys) else self._nobodys_keys()
            if keys.holds(password):
                return keys is entry
        return matches_hash and password_hash is entry

    def _nobodys_keys(self) -> ScramKeys:
        nothing = bytes(scram_keys.KEY_BYTES)
        return ScramKeys(
            self.usual_scram_iterations, nothing[: scram_keys.SALT_BYTES], nothing, nothing
        )


def _matches(password_hash: str, password: bytes) -> bool:
    try:
        return _HASHER.verify(password_hash, password)
    except (VerifyMismatchError, VerificationError):
        return False


@cache
def _decoy_hash() -> str:
    """Return the hash that is checked for a name without one."""
    return _HASHER.hash(secrets.token_urlsafe(16))


def set_password(
    path: Path, username: str, password: bytes, *, scram_iterations: int | None = None
) -> bool:
    """Add the user or replace the user's password; whether the user is new.

    With `scram_iterations` SCRAM keys are written, else an Argon2 hash.

    The file is written beside the old one with mode 0600, fsynced and renamed over it: a process
    that reads it sees the old or the new one, whole, also after a power cut. Comments are kept.
    """
    refuse_username(username)
    refuse_password(password)
    lines: list[str] = []
    if path.exists():
        PasswordFile.load(path)
        lines = path.read_text(encoding="utf-8").splitlines()
    if scram_iterations is None:
        entry = f"{username}:{_HASHER.hash(password)}"
    else:
        entry = f"{username}:{_scram_keys_of(username, password, scram_iterations).text()}"
    places = [index for index, line in enumerate(lines) if line.startswith(f"{username}:")]
    if places:
        lines[places[0]] = entry
    else:
        lines.append(entry)
    _replace(path, "".join(f"{line}\n" for line in lines).encode())
    return not places


def remove_user(path: Path, username: str) -> bool:
    """Remove the user; whether there was one."""
    PasswordFile.load(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(f"{username}:")]
    if len(kept) == len(lines):
        return False
    _replace(path, "".join(f"{line}\n" for line in kept).encode())
    return True


def refuse_username(username: str) -> None:
    """Raise PasswordFileError for a name that a line of the file cannot hold."""
    if _USERNAME.fullmatch(username) is None or len(username.encode()) > USERNAME_BYTES_MAX:
        raise PasswordFileError(
            f"{ascii(username)[:60]} cannot be a user name: use 1 to {USERNAME_BYTES_MAX} bytes, "
            "no colon, no control character, no # in the first place"
        )


def refuse_password(password: bytes) -> None:
    """Raise PasswordFileError for a password that MQTT cannot carry, or for none."""
    # [MQTT-3.1.3-11] the password field holds 0 to 65535 bytes.
    if not 1 <= len(password) <= PASSWORD_BYTES_MAX:
        raise PasswordFileError(f"a password has 1 to {PASSWORD_BYTES_MAX} bytes")


def _scram_keys_of(username: str, password: bytes, iterations: int) -> ScramKeys:
    if not scram_keys.ITERATIONS_MIN <= iterations <= scram_keys.ITERATIONS_MAX:
        allowed = f"{scram_keys.ITERATIONS_MIN} to {scram_keys.ITERATIONS_MAX}"
        raise PasswordFileError(f"{iterations} iterations: allowed are {allowed}")
    _refuse_unprepared(username)
    salt = secrets.token_bytes(scram_keys.SALT_BYTES)
    try:
        return scram_keys.keys_of(password.decode(), salt=salt, iterations=iterations)
    except UnicodeDecodeError:
        raise PasswordFileError("a password for SCRAM has to be text in UTF-8") from None
    except Unprepared as unprepared:
        raise PasswordFileError(f"SCRAM cannot use this password: {unprepared}") from None


def _refuse_unprepared(username: str) -> None:
    # Clients send the prepared form (RFC 5802 section 5.1): another one would never be found.
    try:
        prepared = prepared_of(username, stored=True)
    except Unprepared as unprepared:
        raise PasswordFileError(f"SCRAM cannot use this user name: {unprepared}") from None
    if prepared != username:
        raise PasswordFileError(f"SCRAM knows {username!r} as {prepared!r}: use that name")


def _parse(line: bytes, place: str) -> tuple[str, str | ScramKeys] | None:
    try:
        text = line.decode().rstrip("\r")
    except UnicodeDecodeError:
        raise PasswordFileError(f"{place}: is not UTF-8") from None
    if not text.strip() or text.startswith("#"):
        return None
    user, colon, password_hash = text.partition(":")
    if not colon or _USERNAME.fullmatch(user) is None:
        raise PasswordFileError(f"{place}: is not USER:HASH; write it with: oncegate passwd")
    if password_hash.startswith(scram_keys.PREFIX):
        return user, _parsed_keys(user, password_hash, place)
    try:
        parameters = argon2.extract_parameters(password_hash)
    except InvalidHashError:
        mend = "write it again with: oncegate passwd"
        raise PasswordFileError(f"{place}: no Argon2 hash stands after {user!r}; {mend}") from None
    if parameters.memory_cost > MEMORY_COST_KIB_MAX or parameters.time_cost > TIME_COST_MAX:
        limits = f"at most m={MEMORY_COST_KIB_MAX}, t={TIME_COST_MAX}"
        raise PasswordFileError(f"{place}: the hash of {user!r} costs too much to check: {limits}")
    return user, password_hash


def _parsed_keys(user: str, entry: str, place: str) -> ScramKeys:
    try:
        _refuse_unprepared(user)
        return scram_keys.parse(entry)
    except PasswordFileError as error:
        raise PasswordFileError(f"{place}: {error}") from None
    except ScramKeysError as error:
        mend = "write it again with: oncegate passwd --scram"
        raise PasswordFileError(f"{place}: the entry of {user!r}: {error}; {mend}") from None


def _replace(path: Path, content: bytes) -> None:
    owner = None
    if os.geteuid() == 0 and path.exists():
        # The broker's user must be able to read what root has written for it.
        found = path.stat()
        owner = (found.st_uid, found.st_gid)
    replace_durably(
        path,
        content,
        partial=path.with_name(f".{path.name}.{os.getpid()}"),
        mode=0o600,
        is_new=True,
        owner=owner,
    )
