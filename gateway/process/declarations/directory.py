"""The directory of the configuration file that is being read, for files that it names."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Final

CONFIGURATION_DIRECTORY: Final[ContextVar[Path | None]] = ContextVar(
    "CONFIGURATION_DIRECTORY", default=None
)
"""None where no file is read."""


@contextlib.contextmanager
def files_next_to(configuration: Path | None) -> Iterator[None]:
    """Set the directory to that of a configuration file while its tables are checked."""
    directory = None if configuration is None else configuration.absolute().parent
    token = CONFIGURATION_DIRECTORY.set(directory)
    try:
        yield
    finally:
        CONFIGURATION_DIRECTORY.reset(token)
