"""A line of the password file: a user name with a password hash or SCRAM keys."""

import codecs
import re
from pathlib import Path

import argon2
from argon2.exceptions import InvalidHashError

from gateway.broker.access.errors import AccessFileError
from gateway.broker.access.passwords import mosquitto, scram_keys
from gateway.broker.access.passwords.argon2_hash import Argon2Hash
from gateway.broker.access.passwords.mosquitto import MosquittoHash, MosquittoHashError
from gateway.broker.access.passwords.saslprep import Unprepared, prepared_of
from gateway.broker.access.passwords.scram_keys import ScramKeys, ScramKeysError

# Limits on the cost of a CONNECT with an imported password file.
MEMORY_COST_KIB_MAX = 262_144
TIME_COST_MAX = 20
USERNAME_BYTES_MAX = 1024
PASSWORD_BYTES_MAX = 65_535

_USERNAME = re.compile(r"[^:#\x00-\x1f\x7f][^:\x00-\x1f\x7f]*")

Entry = Argon2Hash | ScramKeys | MosquittoHash


class PasswordFileError(AccessFileError):
    """Error raised if the password file cannot be used.

    The message names the file, the line and the fix.
    """


class UsernameRefused(PasswordFileError):
    """Error raised if a user name has characters that the password file cannot represent."""


def refuse_username(username: str) -> None:
    """Raise UsernameRefused if the password file cannot represent a user name."""
    if _USERNAME.fullmatch(username) is None or len(username.encode()) > USERNAME_BYTES_MAX:
        raise UsernameRefused(
            f"{ascii(username)[:60]} cannot be a user name: use 1 to {USERNAME_BYTES_MAX} bytes, "
            "no colon, no control character, no # in the first place"
        )


def refuse_password(password: bytes) -> None:
    """Raise PasswordFileError if a password is empty or too long for MQTT."""
    # [MQTT-3.1.3-11] the password field holds 0 to 65535 bytes.
    if not 1 <= len(password) <= PASSWORD_BYTES_MAX:
        raise PasswordFileError(f"a password has 1 to {PASSWORD_BYTES_MAX} bytes")


def refuse_unprepared(username: str) -> None:
    """Raise PasswordFileError if SASLprep forbids or changes a user name.

    A SCRAM client sends the normal form of a name (RFC 5802 section 5.1), so any other form would
    never match.
    """
    try:
        prepared = prepared_of(username, stored=True)
    except Unprepared as unprepared:
        raise PasswordFileError(f"SCRAM cannot use this user name: {unprepared}") from None
    if prepared != username:
        raise PasswordFileError(f"SCRAM knows {username!r} as {prepared!r}: use that name")


def lines_of(content: bytes, *, trimmed: bool = False) -> list[bytes]:
    """Split the contents of a password file into lines.

    A byte order mark, as editors on Windows write it, is no part of the first user's name. If
    `trimmed` is True, spaces around user names and hashes of Mosquitto are removed, because
    Mosquitto ignores them.
    """
    lines = [line.rstrip(b"\r") for line in content.removeprefix(codecs.BOM_UTF8).split(b"\n")]
    if not lines[-1]:
        lines.pop()
    return [_trimmed(line) for line in lines] if trimmed else lines


def text_lines_of(path: Path) -> list[str]:
    """Read the lines of a password file as text."""
    return [line.decode() for line in lines_of(path.read_bytes())]


def _trimmed(line: bytes) -> bytes:
    user, colon, entry = (part.strip(b" \t") for part in line.partition(b":"))
    return user + colon + entry if entry.startswith((b"$6$", b"$7$")) else line


def parse(line: bytes, place: str) -> tuple[str, Entry] | None:
    """Return the user name in a line of the password file, and the user's hash or keys.

    The result is None if the line is empty or a comment. Raises PasswordFileError if the line is
    invalid. `place` is the position of the line, for error messages.
    """
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
    if password_hash.startswith(mosquitto.PREFIXES):
        return user, _parsed_mosquitto(user, password_hash, place)
    try:
        parameters = argon2.extract_parameters(password_hash)
    except InvalidHashError:
        fix = "write it again with: oncegate passwd"
        raise PasswordFileError(f"{place}: {user!r} has no hash that is known; {fix}") from None
    if parameters.memory_cost > MEMORY_COST_KIB_MAX or parameters.time_cost > TIME_COST_MAX:
        limits = f"at most m={MEMORY_COST_KIB_MAX}, t={TIME_COST_MAX}"
        raise PasswordFileError(f"{place}: the hash of {user!r} costs too much to check: {limits}")
    return user, Argon2Hash(password_hash)


def _parsed_keys(user: str, entry: str, place: str) -> ScramKeys:
    try:
        refuse_unprepared(user)
        return scram_keys.parse(entry)
    except PasswordFileError as error:
        raise PasswordFileError(f"{place}: {error}") from None
    except ScramKeysError as error:
        fix = "write it again with: oncegate passwd --scram"
        raise PasswordFileError(f"{place}: the entry of {user!r}: {error}; {fix}") from None


def _parsed_mosquitto(user: str, entry: str, place: str) -> MosquittoHash:
    try:
        return mosquitto.parse(entry)
    except MosquittoHashError as error:
        fix = "write it again with: oncegate passwd"
        raise PasswordFileError(f"{place}: the entry of {user!r}: {error}; {fix}") from None
