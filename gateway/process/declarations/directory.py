"""Stores the configuration file's directory. Relative paths in the file start from there."""

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
    """Context manager that sets the directory from which relative paths are resolved.

    While the context is active, `CONFIGURATION_DIRECTORY` contains the directory of the file
    `configuration`. If `configuration` is None, `CONFIGURATION_DIRECTORY` is None too.
    """
    directory = None if configuration is None else configuration.absolute().parent
    token = CONFIGURATION_DIRECTORY.set(directory)
    try:
        yield
    finally:
        CONFIGURATION_DIRECTORY.reset(token)
