"""The newest blobs of the journal, kept in memory: the page shows their events."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.broker.store.journal_files import FOLDER_NAME, journal_files

RECENT_BYTES_MAX: Final = 1024 * 1024
"""Bytes of the blobs that are kept: some 10,000 events of messages with small payloads. An answer
about all of them takes a tenth of a second of a Pi's processor."""


class RecentBlobs:
    """A ring of blobs. Only blobs that are durable belong in it."""

    def __init__(self) -> None:
        self._blobs: deque[bytes] = deque()
        self._size_bytes = 0

    def add(self, blob: bytes) -> None:
        """Keep a blob, and let go of the oldest ones that it displaces."""
        self._blobs.append(blob)
        self._size_bytes += len(blob)
        while self._size_bytes > RECENT_BYTES_MAX:
            self._size_bytes -= len(self._blobs.popleft())

    def load(self, data_dir: Path) -> None:
        """Add the newest blobs of the broker's earlier runs. Raises `OSError`.

        They are in the journal until they are in the tables and exported.
        """
        found: list[bytes] = []
        room = RECENT_BYTES_MAX - self._size_bytes
        files = journal_files(data_dir / FOLDER_NAME)
        for file in reversed(files):
            for blob in reversed(file.blobs(is_newest=file is files[-1]) or []):
                room -= len(blob)
                if room < 0:
                    break
                found.append(blob)
            if room < 0:
                break
        for blob in reversed(found):
            self.add(blob)

    def newest_first(self) -> Iterator[bytes]:
        """Yield the blobs of this moment. Others may be added meanwhile."""
        yield from reversed(list(self._blobs))
