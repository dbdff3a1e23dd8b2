"""The password file: one `user:entry` per line, always replaced as a whole::

    # comments and empty lines are ignored
    sensor-1:$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$...
    sensor-2:{SCRAM-SHA-256}15000:c2FsdHNhbHQ=:StoredKey:ServerKey
    sensor-3:$7$101$c2FsdHNhbHQ=$...

An Argon2id hash can be used for clients that send their password. SCRAM keys can also be used for
clients that only prove that they know the password (gateway/broker/access/passwords/scram.py).
`$6$` and `$7$` are Mosquitto's hashes (gateway/broker/access/passwords/mosquitto.py).

A check costs tens of milliseconds of CPU time and 19 MiB of memory, so the broker runs it in
another process (passwords/workers.py). Passwords are never stored, shown or logged.
"""

import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gateway.broker.access.passwords import scram_keys
from gateway.broker.access.passwords.argon2_hash import Argon2Hash
from gateway.broker.access.passwords.lines import (
    Entry,
    PasswordFileError,
    lines_of,
    parse,
    refuse_password,
    refuse_unprepared,
    refuse_username,
    text_lines_of,
)
from gateway.broker.access.passwords.mosquitto import HASH_BYTES, MosquittoHash
from gateway.broker.access.passwords.saslprep import Unprepared
from gateway.broker.access.passwords.scram_keys import ScramKeys
from gateway.broker.access.passwords.worker import PasswordHash
from gateway.process.files.durable import replace_keeping_owner
from gateway.process.files.private import exposure_of

__all__ = [
    "PasswordFile",
    "PasswordFileError",
    "import_users",
    "refuse_password",
    "refuse_username",
    "remove_user",
    "set_password",
]

FILE_BYTES_MAX = 16 << 20
FILE_MODE = 0o600


class PasswordFile:
    """Users with their password hashes or SCRAM keys, as loaded from the password file.

    An instance never changes. If the file changes, it is loaded into a new instance.
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = dict(entries)
        iterations = Counter(
            entry.iterations for entry in entries.values() if isinstance(entry, ScramKeys)
        )
        self._has_scram_keys = bool(iterations)
        self._nobodys_hash = _nobodys_hash(entries)
        self.usual_scram_iterations = max(
            iterations, key=iterations.__getitem__, default=scram_keys.ITERATIONS_DEFAULT
        )
        """The most common iteration count of the SCRAM keys in this file."""
        decoy_hash()  # compute and cache it now, before the first client needs it

    @classmethod
    def load(cls, path: Path, *, trimmed: bool = False) -> "PasswordFile":
        """Load the password file. `trimmed` is passed to `lines_of`.

        Raises PasswordFileError if the file is invalid. The message names the first invalid line.
        """
        try:
            with path.open("rb") as file:
                content = file.read(FILE_BYTES_MAX + 1)
                mode = os.fstat(file.fileno()).st_mode
        except OSError as error:
            text = f"{path}: cannot be read: {error.strerror}"
            if isinstance(error, FileNotFoundError):
                text += f"; make it with: oncegate passwd {path} USER"
            raise PasswordFileError(text) from error
        if len(content) > FILE_BYTES_MAX:
            raise PasswordFileError(f"{path}: longer than {FILE_BYTES_MAX} bytes")
        exposure = exposure_of(path, mode)
        if exposure is not None:
            raise PasswordFileError(exposure)
        entries: dict[str, Entry] = {}
        for number, line in enumerate(lines_of(content, trimmed=trimmed), start=1):
            user_and_entry = parse(line, f"{path}: line {number}")
            if user_and_entry is None:
                continue
            user, entry = user_and_entry
            if user in entries:
                raise PasswordFileError(f"{path}: line {number}: {user!r} is listed twice")
            entries[user] = entry
        return cls(entries)

    def __contains__(self, username: str) -> bool:
        """Return True if the file contains a user with this name."""
        return username in self._entries

    @property
    def usernames(self) -> frozenset[str]:
        """Names of all users in the file."""
        return frozenset(self._entries)

    def differs_from(self, other: "PasswordFile") -> bool:
        """Return True if this file and `other` contain different users or passwords."""
        return self._entries != other._entries

    def revoked_since(self, before: "PasswordFile") -> frozenset[str]:
        """Return the users of the earlier file `before` whose passwords are no longer valid.

        These users have been removed, or have a new password.
        """
        return frozenset(user for user in before._entries if not self.has_same_entry(before, user))

    def has_same_entry(self, other: "PasswordFile", username: str) -> bool:
        """Return True if a user's entry is the same in both files."""
        return self._entries.get(username) == other._entries.get(username)

    def entry_of(self, username: str) -> bytes | None:
        """Return the user's line in the file, or None for an unknown user.

        The line changes whenever the user's password changes.
        """
        entry = self._entries.get(username)
        if entry is None:
            return None
        text = entry.text if isinstance(entry, Argon2Hash) else entry.text()
        return f"{username}:{text}".encode()

    def scram_keys_of(self, username: str) -> ScramKeys | None:
        """Return the user's SCRAM keys, or None if the user has no SCRAM keys."""
        entry = self._entries.get(username)
        return entry if isinstance(entry, ScramKeys) else None

    def hashes_of(self, username: str) -> tuple[Sequence[PasswordHash], PasswordHash | None]:
        """Return the hashes to check a password against, and the user's own hash.

        The user's own hash is one of these hashes, or None for an unknown user. All user names have
        the same types of hashes, so the time of a check does not reveal which names exist.
        """
        entry = self._entries.get(username)
        hashes: list[PasswordHash] = [entry if isinstance(entry, Argon2Hash) else decoy_hash()]
        if self._has_scram_keys:
            hashes.append(entry if isinstance(entry, ScramKeys) else self._nobodys_keys())
        if self._nobodys_hash is not None:
            hashes.append(entry if isinstance(entry, MosquittoHash) else self._nobodys_hash)
        return hashes, entry

    def verify(self, username: str, password: bytes) -> bool:
        """Return True if `password` is the password of `username`.

        The check runs in this process, not in a worker process.
        """
        hashes, own = self.hashes_of(username)
        matching = [each for each in hashes if each.matches(password)]
        return any(each is own for each in matching) and bool(password)

    def has_empty_password(self, username: str) -> bool:
        """Return True if the user's entry was created from an empty password."""
        entry = self._entries[username]
        if isinstance(entry, ScramKeys):
            return scram_keys.are_of_empty_password(entry)
        return entry.matches(b"")

    def _nobodys_keys(self) -> ScramKeys:
        nothing = bytes(scram_keys.KEY_BYTES)
        return ScramKeys(
            self.usual_scram_iterations, nothing[: scram_keys.SALT_BYTES], nothing, nothing
        )


def _nobodys_hash(entries: Mapping[str, Entry]) -> MosquittoHash | None:
    """Return a hash that no password matches, or None if `entries` has no Mosquitto hashes.

    The hash has the most common iteration count of the Mosquitto hashes in `entries`, so checking
    a password against it takes the usual time.
    """
    hashes = [entry for entry in entries.values() if isinstance(entry, MosquittoHash)]
    if not hashes:
        return None
    iterations = Counter(entry.iterations for entry in hashes).most_common(1)[0][0]
    return MosquittoHash(iterations, secrets.token_bytes(12), bytes(HASH_BYTES))


@cache
def decoy_hash() -> Argon2Hash:
    """Return an Argon2 hash that no password matches.

    If a user has no Argon2 hash, the user's password is also checked against this hash. Because of
    this extra check, a login takes about the same time for all users.
    """
    return Argon2Hash.of(secrets.token_urlsafe(16))


def set_password(
    path: Path, username: str, password: bytes, *, scram_iterations: int | None = None
) -> bool:
    """Add a user, or replace the user's password. Return True if the user is new.

    If `scram_iterations` is given, SCRAM keys are written, otherwise an Argon2 hash. The new file
    is written next to the old file with mode 0600, synced, and renamed over the old file. A reader
    always gets either the complete old file or the complete new file, even after a power cut.
    Comments are kept.
    """
    refuse_username(username)
    refuse_password(password)
    lines: list[str] = []
    if path.exists():
        PasswordFile.load(path)
        lines = text_lines_of(path)
    if scram_iterations is None:
        entry = f"{username}:{Argon2Hash.of(password).text}"
    else:
        entry = f"{username}:{_scram_keys_of(username, password, scram_iterations).text()}"
    places = [index for index, line in enumerate(lines) if line.startswith(f"{username}:")]
    if places:
        lines[places[0]] = entry
    else:
        lines.append(entry)
    replace_keeping_owner(path, "".join(f"{line}\n" for line in lines).encode(), FILE_MODE)
    return not places


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of importing the users of another password file."""

    added: int
    kept: list[str]
    """Users that already existed and were not changed."""
    without_password: list[str]
    """Users with an empty password, which were not added."""


def import_users(path: Path, source: Path) -> Imported:
    """Add the users from another password file, with their hashes.

    `source` is the path of the other file, for example a password file of Mosquitto. Users who
    already exist, or whose password is empty, are not added.

    Raises:
        PasswordFileError: one of the files cannot be used. Nothing was changed.
    """
    there = PasswordFile.load(path).usernames if path.exists() else frozenset[str]()
    entries = PasswordFile.load(source, trimmed=True)
    lines = text_lines_of(path) if path.exists() else []
    outcome = Imported(0, [], [])
    added: list[str] = []
    for line in lines_of(source.read_bytes(), trimmed=True):
        user_and_entry = parse(line, str(source))
        if user_and_entry is None:
            continue
        user, _ = user_and_entry
        if user in there:
            outcome.kept.append(user)
        elif entries.has_empty_password(user):
            outcome.without_password.append(user)
        else:
            added.append(line.decode())
    if added:
        content = "".join(f"{line}\n" for line in (*lines, *added))
        replace_keeping_owner(path, content.encode(), FILE_MODE)
    return replace(outcome, added=len(added))


def remove_user(path: Path, username: str) -> bool:
    """Remove a user from the password file. Return True if the user existed."""
    PasswordFile.load(path)
    lines = text_lines_of(path)
    kept = [line for line in lines if not line.startswith(f"{username}:")]
    if len(kept) == len(lines):
        return False
    replace_keeping_owner(path, "".join(f"{line}\n" for line in kept).encode(), FILE_MODE)
    return True


def _scram_keys_of(username: str, password: bytes, iterations: int) -> ScramKeys:
    if not scram_keys.ITERATIONS_MIN <= iterations <= scram_keys.ITERATIONS_MAX:
        allowed = f"{scram_keys.ITERATIONS_MIN} to {scram_keys.ITERATIONS_MAX}"
        raise PasswordFileError(f"{iterations} iterations: allowed are {allowed}")
    refuse_unprepared(username)
    salt = secrets.token_bytes(scram_keys.SALT_BYTES)
    try:
        return scram_keys.keys_of(password.decode(), salt=salt, iterations=iterations)
    except UnicodeDecodeError:
        raise PasswordFileError("a password for SCRAM has to be text in UTF-8") from None
    except Unprepared as unprepared:
        raise PasswordFileError(f"SCRAM cannot use this password: {unprepared}") from None
