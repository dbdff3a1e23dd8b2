"""What a later version wrote is not damage: it is refused in a sentence, and left as it is."""

from __future__ import annotations

from pathlib import Path


class NewerFormat(OSError):
    """A file has a format of a later version; the message names both and the mend."""

    def __init__(self, file: Path, found: object, understood: int) -> None:
        super().__init__(
            f"{file} has version {found}, this version of Oncegate understands {understood}: start "
            "the newer version again; nothing was changed"
        )
