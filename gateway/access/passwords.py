"""The password file: one `user:hash` a line, hashed with Argon2id, replaced whole or not at all::

    # comments and empty lines are kept apart from users
    sensor-1:$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$...

`verify` costs tens of milliseconds of CPU and 19 MiB of memory on purpose: its caller runs it in a
thread. Passwords themselves are never kept, shown or logged.
"""

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

import argon2
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

# OWASP's smallest recommendation for Argon2id: a Raspberry Pi checks a password in about 50 ms, and
# several clients that connect together do not exhaust its memory.
_HASHER = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# What somebody else's file may make us spend on one CONNECT.
MEMORY_COST_KIB_MAX = 262_144
TIME_COST_MAX = 20
FILE_BYTES_MAX = 16 << 20
USERNAME_BYTES_MAX = 1024
PASSWORD_BYTES_MAX = 65_535

_USERNAME = re.compile(r"[^:#\x00-\x1f\x7f][^:\x00-\x1f\x7f]*")


class PasswordFileError(Exception):
    """The password file cannot be used; the message names the file, the line and the mend."""


class PasswordFile:
    """Users and the hashes of their passwords; immutable once loaded."""

    def __init__(self, hashes: Mapping[str, str]) -> None:
        self._hashes = dict(hashes)
        # Checked for a name that does not exist, so that the time taken does not tell which do.
        self._nobodys_hash = _HASHER.hash(secrets.token_urlsafe(16))

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
            raise PasswordFileError(f"{path}: anyone may write to it; mend: chmod 600 {path}")
        hashes: dict[str, str] = {}
        for number, line in enumerate(content.split(b"\n"), start=1):
            user_and_hash = _parse(line, f"{path}: line {number}")
            if user_and_hash is None:
                continue
            user, password_hash = user_and_hash
            if user in hashes:
                raise PasswordFileError(f"{path}: line {number}: {user!r} stands here twice")
            hashes[user] = password_hash
        return cls(hashes)

    @property
    def usernames(self) -> frozenset[str]:
        """The names that the file knows."""
        return frozenset(self._hashes)

    def verify(self, username: str, password: bytes) -> bool:
        """Whether `password` is the one of `username`; as slow for names that do not exist."""
        password_hash = self._hashes.get(username)
        try:
            matches = _HASHER.verify(password_hash or self._nobodys_hash, password)
        except (VerifyMismatchError, VerificationError):
            return False
        return matches and password_hash is not None


def set_password(path: Path, username: str, password: bytes) -> bool:
    """Add the user or replace the user's password; whether the user is new.

    The file is written beside the old one with mode 0600, fsynced and renamed over it: whoever
    reads it sees the old or the new one, whole, also after a power cut. Comments are kept.
    """
    refuse_username(username)
    refuse_password(password)
    lines: list[str] = []
    if path.exists():
        PasswordFile.load(path)
        lines = path.read_text(encoding="utf-8").splitlines()
    entry = f"{username}:{_HASHER.hash(password)}"
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


def _parse(line: bytes, place: str) -> tuple[str, str] | None:
    try:
        text = line.decode().rstrip("\r")
    except UnicodeDecodeError:
        raise PasswordFileError(f"{place}: is not UTF-8") from None
    if not text.strip() or text.startswith("#"):
        return None
    user, colon, password_hash = text.partition(":")
    if not colon or _USERNAME.fullmatch(user) is None:
        raise PasswordFileError(f"{place}: is not USER:HASH; write it with: oncegate passwd")
    try:
        parameters = argon2.extract_parameters(password_hash)
    except InvalidHashError:
        mend = "write it again with: oncegate passwd"
        raise PasswordFileError(f"{place}: no Argon2 hash stands after {user!r}; {mend}") from None
    if parameters.memory_cost > MEMORY_COST_KIB_MAX or parameters.time_cost > TIME_COST_MAX:
        limits = f"at most m={MEMORY_COST_KIB_MAX}, t={TIME_COST_MAX}"
        raise PasswordFileError(f"{place}: the hash of {user!r} costs too much to check: {limits}")
    return user, password_hash


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    owner = path.stat() if path.exists() else None
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if owner is not None and os.geteuid() == 0:
                # The broker's user must be able to read what root has written for it.
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            os.fsync(descriptor)
        temporary.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
