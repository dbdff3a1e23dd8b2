"""Tokens of programs: a file with one line per token, loaded again when it changes::

    # Tokens of Oncegate's REST interface, version 1
    dashboard:viewer:2026-11-24:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

The fields are name, role, day of creation, and SHA-256 of the token. A token has 256 random bits
and cannot be guessed, so a slow hash would not add protection, but would slow down each request
(docs/decisions/0097-*.md). `oncegate api-token` writes the file.
"""

import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from api import limits
from api.login.roles import ROLES_BY_WORD, Role
from gateway.process.files.file_state import FileState, state_of
from gateway.process.files.private import exposure_of

logger = logging.getLogger(__name__)

HEADER: Final = "# Tokens of Oncegate's REST interface, version 1"
PREFIX: Final = "ogt_"
"""Prefix of every token, by which scanners for leaked secrets recognise it."""

_LINE: Final = re.compile(
    r"([A-Za-z0-9._-]{1,64}):([a-z]{1,16}):(\d{4}-\d\d-\d\d):([0-9a-f]{64})", re.ASCII
)
_VERSION: Final = re.compile(r"# Tokens of Oncegate's REST interface, version (\d+)", re.ASCII)


class TokensFileError(Exception):
    """The file of tokens cannot be used. The message names the file, the line and the fix."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """The stored properties of a token."""

    name: str
    role: Role
    made: str
    """The day on which the token was created, such as 2026-11-24."""
    digest: str
    """SHA-256 of the token, as 64 hexadecimal digits."""

    @property
    def line(self) -> str:
        """The token's line in the file."""
        return f"{self.name}:{self.role.word}:{self.made}:{self.digest}"


def new_token(name: str, role: Role, made: str) -> tuple[str, Token]:
    """Return a new token, which is shown only once, and the properties to store.

    Raises:
        TokensFileError: the name is invalid.
    """
    text = PREFIX + secrets.token_urlsafe(32)
    token = Token(name=name, role=role, made=made, digest=_digest_of(text))
    if _LINE.fullmatch(token.line) is None:
        raise TokensFileError(
            f"{ascii(name)[:70]} cannot be a token's name: use 1 to 64 letters, digits, dots, "
            "dashes and underscores"
        )
    return text, token


def read_tokens(path: Path) -> list[Token]:
    """Read all tokens from a file.

    Raises:
        TokensFileError: the file is unreadable, or one of its lines is invalid.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            content = file.read(limits.TOKENS_FILE_BYTES_MAX + 1) if stat.S_ISREG(mode) else b""
    except OSError as error:
        mend = f"make it with: oncegate api-token add --file {path} NAME"
        if isinstance(error, PermissionError):
            mend = f"let the user {os.geteuid()} that this runs as read it"
        raise TokensFileError(f"{path}: cannot be read: {error.strerror}; {mend}") from error
    if not stat.S_ISREG(mode):
        raise TokensFileError(f"{path}: is not a file: name the one that has the tokens")
    exposure = exposure_of(path, mode)
    if exposure is not None:
        raise TokensFileError(exposure)
    if len(content) > limits.TOKENS_FILE_BYTES_MAX:
        raise TokensFileError(f"{path}: longer than {limits.TOKENS_FILE_BYTES_MAX} bytes")
    return _parsed(content.decode("utf-8", "replace").splitlines(), path)


def _parsed(lines: Sequence[str], path: Path) -> list[Token]:
    tokens: dict[str, Token] = {}
    for number, line in enumerate(lines, 1):
        version = _VERSION.fullmatch(line)
        if version is not None and version[1] != "1":
            raise TokensFileError(f"{path}: is of a newer version of Oncegate: {version[1]}")
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None or found[2] not in ROLES_BY_WORD:
            raise TokensFileError(
                f"{path}: line {number}: is not NAME:ROLE:DAY:HASH; write it with: "
                "oncegate api-token add"
            )
        name = found[1]
        if name in tokens:
            raise TokensFileError(f"{path}: line {number}: {name} is listed twice")
        tokens[name] = Token(
            name=name, role=ROLES_BY_WORD[found[2]], made=found[3], digest=found[4]
        )
    if len(tokens) > limits.TOKENS_MAX:
        raise TokensFileError(f"{path}: more than {limits.TOKENS_MAX} tokens")
    return list(tokens.values())


class Tokens:
    """The tokens in a file. Changes of the file take effect within ``TOKENS_LOOK_SECONDS``."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._looked = float("-inf")
        self._state: FileState = None
        self._tokens: list[Token] = []
        self._problem: str | None = None

    def find(self, shown: str, now: float) -> Token | None:
        """Return the stored properties of a program's token, or None if the token is unknown.

        The token is compared with all stored tokens in constant time, to prevent timing attacks.
        """
        self._look(now)
        digest = _digest_of(shown)
        found: Token | None = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def all(self, now: float) -> tuple[list[Token], str | None]:
        """Return all tokens, and the reason why the file is not used (None if it is used)."""
        self._look(now)
        return self._tokens, self._problem

    def _look(self, now: float) -> None:
        if now - self._looked < limits.TOKENS_LOOK_SECONDS:
            return
        self._looked = now
        found = state_of(self._path)
        if found == self._state and found is not None:
            return
        self._state = found
        try:
            self._tokens, problem = read_tokens(self._path), None
            logger.info("%s: %d tokens", self._path, len(self._tokens))
        except TokensFileError as error:
            # A removed token must not remain valid because of a mistake elsewhere in the file.
            self._tokens, problem = [], str(error)
        if problem is not None and problem != self._problem:
            logger.error("no token counts: %s", problem)
        self._problem = problem


def _digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
