"""The state of one thing that can fail: one log line when it starts, one when it is over."""

from __future__ import annotations

import errno
import logging
import sqlite3
import time

from gateway.files.disk_errors import is_full

_log = logging.getLogger(__name__)


class Trouble:
    """Keeps the sentence that the status shows while ``what`` is failing."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._kind = ""
        self.sentence: str | None = None
        self.since_ms: int | None = None

    def begin(self, sentence: str, kind: str) -> None:
        """``kind`` names the cause: a new sentence of the same kind changes the status only."""
        if self.since_ms is None:
            self.since_ms = time.time_ns() // 1_000_000
        if self.sentence is None or kind != self._kind:
            _log.error("%s fails: %s", self._what, sentence)
        self.sentence, self._kind = sentence, kind

    def show(self, sentence: str) -> None:
        """Change what the status shows; the log has its own words for it."""
        if self.since_ms is None:
            self.since_ms = time.time_ns() // 1_000_000
        self.sentence = sentence

    def end(self) -> None:
        if self.sentence is not None:
            _log.info("%s works again", self._what)
        self.sentence = self.since_ms = None

    def begin_with(self, problem: OSError | sqlite3.Error) -> None:
        self.begin(sentence_of(problem), kind_of(problem))


def sentence_of(problem: Exception) -> str:
    """What a person needs to know about a failure of the world, the mend with it."""
    if is_full(problem):
        return f"{problem}: free space or make the partition larger"
    if isinstance(problem, OSError) and problem.errno == errno.EROFS:
        return f"{problem}: remount the partition writable, or replace the card"
    if isinstance(problem, sqlite3.Error):
        return f"the journal cannot be read: {problem}"
    return str(problem) or type(problem).__name__


def kind_of(problem: Exception) -> str:
    return f"{type(problem).__name__} {getattr(problem, 'errno', None)}"
