"""The directory of the configuration file that is being read, for relative paths in the file."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Final

CONFIGURATION_DIRECTORY: Final[ContextVar[Path | None]] = ContextVar(
    "CONFIGURATION_DIRECTORY", default=None
)
"""The directory of the configuration file that is being read, or None if no file is read."""


@contextlib.contextmanager
def files_next_to(configuration: Path | None) -> Iterator[None]:
    """Resolve relative paths from the configuration file's folder while the context is active.

    The folder is stored in `CONFIGURATION_DIRECTORY`. `configuration` is the path of the file, or
    None if there is no file.
    """
    directory = None if configuration is None else configuration.absolute().parent
    token = CONFIGURATION_DIRECTORY.set(directory)
    try:
        yield
    finally:
        CONFIGURATION_DIRECTORY.reset(token)
