"""Current failures of the uploader, for the status report and the log.

One log line is written when an operation begins to fail, and another when it works again.
"""

from __future__ import annotations

import errno
import logging
import time

from gateway.process.files import descriptors
from gateway.process.files.disk_errors import is_full, line_of

logger = logging.getLogger(__name__)


class Fault:
    """The state of one operation, with the current error message if the operation fails."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._kind = ""
        self.sentence: str | None = None
        self.since_ms: int | None = None

    def begin(self, sentence: str, kind: str) -> None:
        """Set the operation's error message, and log it if the failure is new.

        `kind` names the cause. Another message with the same cause is not logged.
        """
        if self.since_ms is None:
            self.since_ms = time.time_ns() // 1_000_000
        if self.sentence is None or kind != self._kind:
            logger.error("%s fails: %s", self._what, sentence)
        self.sentence, self._kind = sentence, kind

    def show(self, sentence: str) -> None:
        """Set the operation's error message without logging it. The caller has already done so."""
        if self.since_ms is None:
            self.since_ms = time.time_ns() // 1_000_000
        self.sentence = sentence

    def end(self) -> None:
        """Clear the operation's error message, and log that the operation works again."""
        if self.sentence is not None:
            logger.info("%s works again", self._what)
        self.sentence = self.since_ms = None

    def begin_with(self, problem: OSError) -> None:
        """Set the operation's error message from the exception `problem`."""
        self.begin(sentence_of(problem), kind_of(problem))


def sentence_of(problem: Exception) -> str:
    """Return a sentence that describes a failure and, if possible, explains how to fix it."""
    if descriptors.ran_out(problem):
        return f"{line_of(problem)}: raise the limit of open files (LimitNOFILE of the service)"
    if is_full(problem):
        return f"{line_of(problem)}: free space or make the partition larger"
    if isinstance(problem, OSError) and problem.errno == errno.EROFS:
        return f"{line_of(problem)}: remount the partition writable, or replace the card"
    return line_of(problem) or type(problem).__name__


def kind_of(problem: Exception) -> str:
    """Return a short name for the cause of a failure: the exception's type and error number."""
    return f"{type(problem).__name__} {getattr(problem, 'errno', None)}"
