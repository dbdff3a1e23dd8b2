"""Keeps the newest events of the journal in memory, for the status page.

The events are stored as blobs. A blob contains the encoded events of one batch of records.
"""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.broker.store.journal_files import FOLDER_NAME, journal_files

RECENT_BYTES_MAX: Final = 1024 * 1024
"""Maximum total size of the blobs: some 10,000 events of messages with small payloads. Decoding all
of them takes a tenth of a second on a Raspberry Pi."""


class RecentBlobs:
    """A buffer of limited size for the newest durable blobs.

    A blob contains the encoded events of one batch of records.
    """

    def __init__(self) -> None:
        self._blobs: deque[bytes] = deque()
        self._size_bytes = 0

    def add(self, blob: bytes) -> None:
        """Add the encoded events of a durable batch.

        If the buffer then exceeds its size limit, the oldest blobs are removed.
        """
        self._blobs.append(blob)
        self._size_bytes += len(blob)
        while self._size_bytes > RECENT_BYTES_MAX:
            self._size_bytes -= len(self._blobs.popleft())

    def load(self, data_dir: Path) -> None:
        """Add the newest events from earlier runs, if the journal still contains them.

        Raises OSError if the journal cannot be read.
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
        """Yield the stored blobs, newest first. A blob contains the encoded events of one batch.

        Blobs that are added during the iteration are not yielded.
        """
        yield from reversed(list(self._blobs))
