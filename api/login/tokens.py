"""Loads the tokens of programs from a file, and reloads them when the file changes.

The format of the file is defined in `gateway.process.files.token_file`.
"""

import hmac
import logging
from pathlib import Path
from typing import Final

from api import limits
from gateway.process.files.file_state import FileState, state_of
from gateway.process.files.token_file import Token, TokensFileError, digest_of, read_tokens

logger = logging.getLogger(__name__)


class Tokens:
    """The tokens in a file. A change to the file takes effect within ``TOKENS_CHECK_SECONDS``."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._read_at = float("-inf")
        self._state: FileState = None
        self._tokens: list[Token] = []
        self._problem: str | None = None

    def find(self, secret: str, now: float) -> Token | None:
        """Return the stored token that matches a program's secret, or None if none matches.

        The secret is compared with each stored token in constant time, to prevent timing attacks.
        """
        self._read_if_changed(now)
        digest = digest_of(secret)
        found: Token | None = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def all(self, now: float) -> tuple[list[Token], str | None]:
        """Return all tokens and None, or an empty list and an error message.

        The error message states why the file cannot be used.
        """
        self._read_if_changed(now)
        return self._tokens, self._problem

    def _read_if_changed(self, now: float) -> None:
        if now - self._read_at < limits.TOKENS_CHECK_SECONDS:
            return
        self._read_at = now
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
