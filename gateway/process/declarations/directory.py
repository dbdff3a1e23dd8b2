"""The directory of the configuration file that is being read. Relative paths start there."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Final

CONFIGURATION_DIRECTORY: Final[ContextVar[Path | None]] = ContextVar(
    "CONFIGURATION_DIRECTORY", default=None
)
"""The directory, or None while no configuration file is being read."""


@contextlib.contextmanager
def files_next_to(configuration: Path | None) -> Iterator[None]:
    """Set `CONFIGURATION_DIRECTORY` to the configuration file's folder while the context is active.

    `configuration` is the path of the configuration file, or None if there is no file.
    """
    directory = None if configuration is None else configuration.absolute().parent
    token = CONFIGURATION_DIRECTORY.set(directory)
    try:
        yield
    finally:
        CONFIGURATION_DIRECTORY.reset(token)
