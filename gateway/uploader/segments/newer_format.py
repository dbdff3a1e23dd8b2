"""The error for files of a later version. They are not damaged, and must not be changed."""

from __future__ import annotations

from pathlib import Path


class NewerFormat(OSError):
    """A later version of Oncegate wrote the file.

    The message contains both versions and the fix.
    """

    def __init__(self, file: Path, found: object, understood: int) -> None:
        super().__init__(
            f"{file} has version {found}, this version of Oncegate understands {understood}: start "
            "the newer version again; nothing was changed"
        )
