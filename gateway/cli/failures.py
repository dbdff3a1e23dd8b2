"""What a verb raises where a person has to do something: lines to show and an exit code."""

import sys
from collections.abc import Sequence

EXIT_FAILED = 1
EXIT_USAGE = EXIT_CONFIGURATION = 2
EXIT_INTERRUPTED = 130


class CommandFailed(Exception):
    """The verb cannot do what it was asked; `lines` say what happened and what to do about it."""

    def __init__(self, lines: str | Sequence[str], *, exit_code: int = 1) -> None:
        self.lines = (lines,) if isinstance(lines, str) else tuple(lines)
        self.exit_code = exit_code
        super().__init__("\n".join(self.lines))


def line_of(error: object) -> str:
    """An error's message as one line: an OSError names its file, and nothing breaks the line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror is not None:
        return " ".join(error.strerror.split())
    return " ".join(str(error).split())


def say(line: str) -> None:
    """Tell the person at the terminal; standard output is for what was asked for."""
    print(line, file=sys.stderr)
