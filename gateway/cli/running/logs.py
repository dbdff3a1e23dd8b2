"""Log format of all processes on stderr::

    2026-11-21 09:10:55 bridge  warning: serial port gps lost
    1970-01-01 00:01:12? broker  the clock is not synchronised: the kernel does not trust the time

A question mark after the time means that the clock is not synchronised.

Under systemd, records are sent to the journal with fields (PRIORITY, ONCEGATE_PROCESS, and
CLIENT_ID if a record is about a client). The command
`journalctl ONCEGATE_PROCESS=broker CLIENT_ID=pump-3` then finds the broker's records about the
client `pump-3`. If systemd's library is missing, lines start with a priority instead of the time,
because the journal adds the time itself. Untrusted text (client ids, topics, serial lines) can
neither break a line nor send control characters to a terminal.
"""

import logging
import os
import sys
import time

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.server.host import clock
from gateway.process.files.disk_errors import without_errno

try:
    from systemd import journal
except ImportError:  # The extra `systemd` is not installed.
    journal = None

JOURNAL_SOCKET = "/run/systemd/journal/socket"

# sd-daemon(3): the level at the beginning of a line, as the journal reads it.
_PRIORITY = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}


class Printable(logging.Formatter):
    """Log formatter that escapes control characters and removes `[Errno N]` from messages."""

    def format(self, record: logging.LogRecord) -> str:
        text = "".join(
            character if character.isprintable() else character.encode("unicode_escape").decode()
            for character in without_errno(record.getMessage())
        )
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


class Lines(Printable):
    """Log formatter that writes one line per record, for a terminal or for systemd's journal.

    A line for a terminal starts with the time, and a line for the journal with the priority.
    """

    def __init__(self, process: str, *, for_journal: bool) -> None:
        super().__init__()
        self._process = process
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if self._for_journal:
            return f"<{_PRIORITY.get(record.levelname, 6)}>{text}"
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        if clock.quality() is ClockQuality.UNSYNCHRONISED:
            when += "?"
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        return f"{when} {self._process:<7} {level}{text}"


def _handler(process: str) -> logging.Handler:
    under_systemd = "JOURNAL_STREAM" in os.environ
    if under_systemd and journal is not None and os.path.exists(JOURNAL_SOCKET):
        handler: logging.Handler = journal.JournalHandler(
            SYSLOG_IDENTIFIER=f"oncegate-{process}", ONCEGATE_PROCESS=process
        )
        handler.setFormatter(Printable())
        return handler
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(process, for_journal=under_systemd))
    return handler


def start(process: str, *, verbose: bool, quiet: bool) -> None:
    """Start logging to stderr or systemd's journal. `process` is the subcommand's name."""
    handler = _handler(process)
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # A closed terminal must not cause a traceback for every line.
    logging.raiseExceptions = False
