"""A disk that is really full: a small tmpfs, which needs root, and something else that fills it."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

PAGE_BYTES = 4096
BALLAST_NAME = "ballast"


class SmallDisk:
    """A file system of some MiB and a file on it that is used by nothing but the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / BALLAST_NAME

    @property
    def free_bytes(self) -> int:
        """What is left for others."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize

    def fill(self, *, leave_bytes: int = 0) -> bool:
        """Take all that is free but so much; return whether there was anything to take."""
        before = self.free_bytes
        while self.free_bytes > leave_bytes:
            if not self.grow(max(PAGE_BYTES, (self.free_bytes - leave_bytes) // 2)):
                break
        return before > leave_bytes

    def grow(self, size_bytes: int) -> bool:
        """Take so much more; return whether there was as much."""
        if size_bytes > self.free_bytes > 0:
            size_bytes = self.free_bytes
        with self._ballast.open("ab") as file:
            try:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size_bytes)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                return False
        return True

    def empty(self) -> None:
        """Give everything back."""
        self._ballast.unlink(missing_ok=True)


class CannotMount(Exception):
    """Only root mounts a file system; the message states what was answered."""


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """A disk for as long as the block lasts; the test is skipped where none can be mounted."""
    with ExitStack() as stack:
        try:
            disk = stack.enter_context(mounted_disk(folder, size_bytes))
        except CannotMount as reason:
            pytest.skip(str(reason))
        yield disk


@contextmanager
def mounted_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """A disk for as long as the block lasts. Raises `CannotMount`."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        said = mounted.stderr.decode().strip()
        raise CannotMount(f"mounting a small disk needs root: {said}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
