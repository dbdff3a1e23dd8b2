"""Exit codes of all subcommands, and the exception for failures that the user has to fix."""

import sys
from collections.abc import Sequence

EXIT_OK = 0
EXIT_FAILED = 1
"""The command failed for a reason that has no exit code of its own."""
EXIT_USAGE = EXIT_CONFIGURATION = 2
"""The command line, the configuration, or a file that one of them names is invalid."""
EXIT_VIOLATION = 3
"""A violation was found: a message was lost, duplicated or changed."""
EXIT_INCONCLUSIVE = 4
"""No violation was found, but events are missing, so the result is incomplete."""
EXIT_BUSY = 5
"""Another process is writing to the tables. Try again later."""
EXIT_INTERRUPTED = 130

EXIT_CODES_TEXT = (
    f"Exit codes: {EXIT_OK} ok, {EXIT_FAILED} failure, {EXIT_USAGE} wrong usage or configuration, "
    f"{EXIT_VIOLATION} a violation was found, {EXIT_INCONCLUSIVE} inconclusive or gaps, "
    f"{EXIT_BUSY} tables are busy, {EXIT_INTERRUPTED} interrupted."
)
"""Text for `oncegate --help`. docs/commands.md lists the same codes in a table."""


class CommandFailed(Exception):
    """Error raised if a command fails. The printed `lines` explain the failure and its fix."""

    def __init__(self, lines: str | Sequence[str], *, exit_code: int = EXIT_FAILED) -> None:
        self.lines = (lines,) if isinstance(lines, str) else tuple(lines)
        self.exit_code = exit_code
        super().__init__("\n".join(self.lines))


def say(line: str) -> None:
    """Print a line to standard error. Standard output is reserved for results."""
    print(line, file=sys.stderr)
