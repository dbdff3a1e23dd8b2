"""The error for files that a newer version of Oncegate wrote. They must not be changed."""

from __future__ import annotations

from pathlib import Path


class NewerFormat(OSError):
    """Error raised for a file that a newer version of Oncegate wrote.

    The message names both versions, and explains how to continue.
    """

    def __init__(self, file: Path, found: object, understood: int) -> None:
        super().__init__(
            f"{file} has version {found}, this version of Oncegate understands {understood}: start "
            "the newer version again; nothing was changed"
        )
