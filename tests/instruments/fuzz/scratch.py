"""The folder for data directories of programs: in memory, where an fsync is free."""

import os
from pathlib import Path
from typing import Final

MEMORY_FOLDER: Final = Path("/dev/shm")  # noqa: S108 - only directories with random names go there


def scratch_root() -> Path | None:
    """Return the folder for temporary directories, or None for Python's default (also TMPDIR's)."""
    return None if "TMPDIR" in os.environ or not MEMORY_FOLDER.is_dir() else MEMORY_FOLDER
