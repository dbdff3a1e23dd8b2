"""A medium on which reads of some bytes fail, for code that runs in the test."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest


class BadMedium:
    """Reads of marked bytes fail, and other reads succeed; reads may be short."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pread: Callable[[int, int, int], bytes] = os.pread
        self._bad: dict[int, list[range]] = {}
        self.read_bytes_max: int | None = None
        """Bytes that one read returns, at most."""
        self.failures = 0
        monkeypatch.setattr(os, "pread", self._read)
        monkeypatch.setattr("gateway.broker.store.medium.READ_RETRY_SECONDS", 0.0)

    def fail(self, path: Path, first: int, end: int) -> None:
        """Make reads of the file's bytes from `first` to `end` fail from now on."""
        self._bad.setdefault(path.stat().st_ino, []).append(range(first, end))

    def heal(self) -> None:
        """Make all reads succeed again."""
        self._bad.clear()

    def _read(self, descriptor: int, count: int, at: int) -> bytes:
        if self.read_bytes_max is not None:
            count = min(count, self.read_bytes_max)
        for bad in self._bad.get(os.fstat(descriptor).st_ino, []):
            if at < bad.stop and bad.start < at + count:
                self.failures += 1
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self._pread(descriptor, count, at)
