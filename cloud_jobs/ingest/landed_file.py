"""A landed file: as Spark names it, and its bytes where it is one of this machine's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cloud_jobs.errors import IngestError
from cloud_jobs.limits import SEGMENT_FILE_BYTES_MAX

LOCAL: Final = "file:"
"""How Spark writes a path of this machine in the column `path`."""


@dataclass(frozen=True, slots=True)
class Landed:
    """A file to look at."""

    path: str
    file_bytes: int


def name_of(path: str) -> str:
    """Return the name of a file without its folders."""
    return path.rpartition("/")[2]


def read_here(path: str) -> tuple[int, bytes | None]:
    """Return the bytes of a file of this machine's, and how many; None where they are more than any
    segment has. Raises IngestError."""
    place = Path(path.removeprefix(LOCAL))
    try:
        size = place.stat().st_size
        if size > SEGMENT_FILE_BYTES_MAX:
            return size, None
        content = place.read_bytes()
    except OSError as error:
        raise IngestError(
            f"{path} cannot be read: {error.strerror} (nothing is lost: if it was moved run it "
            "again, else let this user read it)"
        ) from error
    return len(content), content
