"""A disk that is really full: a small tmpfs, which needs root, and a file that fills it."""

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
    """A file system of some MiB, and a file on it that only the test uses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / BALLAST_NAME

    @property
    def free_bytes(self) -> int:
        """The number of free bytes."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize

    def fill(self, *, leave_bytes: int = 0) -> bool:
        """Fill the disk except for `leave_bytes`. Return True if there was anything to fill."""
        before = self.free_bytes
        while self.free_bytes > leave_bytes:
            if not self.grow(max(PAGE_BYTES, (self.free_bytes - leave_bytes) // 2)):
                break
        return before > leave_bytes

    def grow(self, size_bytes: int) -> bool:
        """Grow the file by `size_bytes`. Return True if there was enough space."""
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
        """Delete the file that fills the disk."""
        self._ballast.unlink(missing_ok=True)


class CannotMount(Exception):
    """Mounting failed, which only root may do. The message is the output of `mount`."""


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """Yield a disk for the duration of the block. Skip the test if no disk can be mounted."""
    with ExitStack() as stack:
        try:
            disk = stack.enter_context(mounted_disk(folder, size_bytes))
        except CannotMount as reason:
            pytest.skip(str(reason))
        yield disk


@contextmanager
def mounted_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """Yield a disk for the duration of the block. Raises `CannotMount` if mounting fails."""
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
