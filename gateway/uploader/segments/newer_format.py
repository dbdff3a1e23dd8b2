"""The error for files that a later version wrote. They are not damaged, and must not be changed."""

from __future__ import annotations

from pathlib import Path


class NewerFormat(OSError):
    """Raised if a later version of Oncegate wrote the file.

    The message names both versions and how to fix the problem.
    """

    def __init__(self, file: Path, found: object, understood: int) -> None:
        super().__init__(
            f"{file} has version {found}, this version of Oncegate understands {understood}: start "
            "the newer version again; nothing was changed"
        )
