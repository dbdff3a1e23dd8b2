"""Folders with as many segments as a quiet gateway writes in weeks and years."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from gateway.process.files.segment_folders import make_subfolder

BOOT = "0123456789abcdef"
DATA = b"x"
_SHA256 = hashlib.sha256(DATA).hexdigest()


def name_of(number: int, gateway: str = "gw-1") -> str:
    """Return the name of a segment of ten events whose file contains `DATA`."""
    first, last = 10 * number - 9, 10 * number
    return f"{gateway}.{BOOT}.{number:08d}.{first:012d}-{last:012d}.{_SHA256}.jsonl.zst"


def fill(folder: Path, numbers: Iterable[int], data: bytes = DATA, *, flat: bool = False) -> None:
    """Write small files with the names of segments.

    With `flat` they are directly in the folder, without subfolders.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        place = folder if flat else make_subfolder(folder, number)
        (place / name_of(number)).write_bytes(data)


def age(folder: Path, seconds: float = 60.0) -> None:
    """Set the modification times of a folder back, as if nothing had changed for a while."""
    for path, _, _ in os.walk(folder):
        status = os.stat(path)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - int(seconds * 1e9)))
