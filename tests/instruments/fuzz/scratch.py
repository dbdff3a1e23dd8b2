"""Where data directories of programs go: into memory, where an fsync costs nothing."""

import os
from pathlib import Path
from typing import Final

MEMORY_FOLDER: Final = Path("/dev/shm")  # noqa: S108 - only directories with random names go there


def scratch_root() -> Path | None:
    """Return the folder for temporary directories; None: what Python takes, as TMPDIR states."""
    return None if "TMPDIR" in os.environ or not MEMORY_FOLDER.is_dir() else MEMORY_FOLDER
