"""The file with access tokens for programs (docs/formats/api-tokens.md), one line per token::

    # Tokens of Oncegate's REST interface, version 1
    dashboard:viewer:2026-11-24:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

The fields are name, role, creation date, and SHA-256 of the token. A token has 256 random bits and
cannot be guessed, so a slow hash would not add protection, but would slow down each request
(docs/decisions/0097-*.md). `oncegate api-token` and the broker write the file, and the status page
reads it.
"""

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.process.files.durable import replace_keeping_owner
from gateway.process.files.private import exposure_of

HEADER: Final = "# Tokens of Oncegate's REST interface, version 1"
PREFIX: Final = "ogt_"
"""Prefix of every token, so that programs that search for leaked secrets recognise tokens."""
ROLES: Final = ("viewer", "operator", "administrator")
TOKENS_MAX: Final = 100
"""Maximum number of tokens in a file. The token in each request is compared with all of them."""
FILE_BYTES_MAX: Final = 65_536
"""Maximum bytes of the file: 100 lines take 16 kB."""
FILE_MODE: Final = 0o640
"""Mode of a new file. The file's group is that of the status page's process, so that the page can
read it."""

_LINE: Final = re.compile(
    r"([A-Za-z0-9._-]{1,64}):([a-z]{1,16}):(\d{4}-\d\d-\d\d):([0-9a-f]{64})", re.ASCII
)
_VERSION: Final = re.compile(r"# Tokens of Oncegate's REST interface, version (\d+)", re.ASCII)


class TokensFileError(Exception):
    """Error raised for a token file that cannot be used.

    The message names the file and the line, and explains how to fix the problem.
    """


@dataclass(frozen=True, kw_only=True)
class Token:
    """The properties of a token that are stored in the file."""

    name: str
    role: str
    """One of `ROLES`."""
    made: str
    """The day on which the token was created, such as 2026-11-24."""
    digest: str
    """SHA-256 of the token, 64 hexadecimal digits."""

    @property
    def line(self) -> str:
        """The token's line in the file."""
        return f"{self.name}:{self.role}:{self.made}:{self.digest}"


def new_token(name: str, role: str, made: str) -> tuple[str, Token]:
    """Create a token. Return its text, and the properties to store in the file.

    The caller must show the text to the user now, because only its SHA-256 is stored. `made` is the
    creation date.

    Raises:
        TokensFileError: if the name or the role is invalid.
    """
    text = PREFIX + secrets.token_urlsafe(32)
    token = Token(name=name, role=role, made=made, digest=digest_of(text))
    if _LINE.fullmatch(token.line) is None or role not in ROLES:
        raise TokensFileError(
            f"{ascii(name)[:70]} cannot be a token's name: use 1 to 64 letters, digits, dots, "
            "dashes and underscores"
        )
    return text, token


def digest_of(token: str) -> str:
    """Return the SHA-256 of a token as it is stored in the file."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def write_tokens(path: Path, tokens: Sequence[Token]) -> None:
    """Replace the whole token file. The file's owner is kept.

    Raises:
        TokensFileError: if there are too many tokens.
        OSError: if the file cannot be written.
    """
    if len(tokens) > TOKENS_MAX:
        raise TokensFileError(f"{path}: has {TOKENS_MAX} tokens, and may have no more: remove one")
    text = "\n".join([HEADER, *(token.line for token in tokens), ""])
    replace_keeping_owner(path, text.encode(), FILE_MODE)


def read_tokens(path: Path) -> list[Token]:
    """Return the tokens in a token file.

    Raises:
        TokensFileError: if the file is unreadable, or one of its lines is invalid.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            content = file.read(FILE_BYTES_MAX + 1) if stat.S_ISREG(mode) else b""
    except OSError as error:
        fix = f"make it with: oncegate api-token add --file {path} NAME"
        if isinstance(error, PermissionError):
            fix = f"let the user {os.geteuid()} that this runs as read it"
        raise TokensFileError(f"{path}: cannot be read: {error.strerror}; {fix}") from error
    if not stat.S_ISREG(mode):
        raise TokensFileError(f"{path}: is not a file: name the one that has the tokens")
    exposure = exposure_of(path, mode)
    if exposure is not None:
        raise TokensFileError(exposure)
    if len(content) > FILE_BYTES_MAX:
        raise TokensFileError(f"{path}: longer than {FILE_BYTES_MAX} bytes")
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
        if found is None or found[2] not in ROLES:
            raise TokensFileError(
                f"{path}: line {number}: is not NAME:ROLE:DAY:HASH; write it with: "
                "oncegate api-token add"
            )
        name = found[1]
        if name in tokens:
            raise TokensFileError(f"{path}: line {number}: {name} is listed twice")
        tokens[name] = Token(name=name, role=found[2], made=found[3], digest=found[4])
    if len(tokens) > TOKENS_MAX:
        raise TokensFileError(f"{path}: more than {TOKENS_MAX} tokens")
    return list(tokens.values())
