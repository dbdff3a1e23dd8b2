"""Reads the batches of journal files whose headers are damaged.

Such a file does not state which batches belong to its last use. It may hold older batches from an
earlier use, before or after the newer ones. So its batches are sorted by their sequence numbers,
together with those of the other files. Only their positions are kept in memory.
"""

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gateway.broker.core.records.blob import has_valid_crc
from gateway.broker.store.journal_files import (
    FRAME,
    HEADER_BYTES,
    STORE,
    JournalFile,
    count_of,
    frames,
    sequence_of,
)
from gateway.broker.store.medium import Contents, read_blocks


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """A batch in a file with a damaged header."""

    file: JournalFile
    at: int
    """Offset of the batch's frame in the file, in bytes."""
    blob_bytes: int
    store: str
    """Id of the store that wrote the batch."""
    first_sequence: int
    last_sequence: int

    def read(self, attempts: int = 1) -> list[bytes]:
        """Return the blob in a list, which is empty if the file was reused or deleted meanwhile.

        `attempts` is the maximum number of attempts to read a block of the disk.
        """
        try:
            descriptor = os.open(self.file.path, os.O_RDONLY)
        except FileNotFoundError:
            return []
        try:
            start = self.at + FRAME.size
            blob = read_blocks(descriptor, self.blob_bytes, start, attempts).data
        finally:
            os.close(descriptor)
        is_same = len(blob) == self.blob_bytes and has_valid_crc(blob)
        return [blob] if is_same and sequence_of(blob) == self.first_sequence else []


def damaged_of(files: Iterable[JournalFile]) -> list[JournalFile]:
    """Return the files whose headers are damaged."""
    return [file for file in files if file.salt is None]


def batches_in(file: JournalFile, contents: Contents) -> Iterator[FoundBatch]:
    """Yield the batches with a valid CRC in the contents of a file with a damaged header."""
    for at, blob in frames(contents.data, HEADER_BYTES, None):
        first = sequence_of(blob)
        yield FoundBatch(file, at, len(blob), blob[STORE].hex(), first, first + count_of(blob) - 1)


def in_order(batches: Iterable[FoundBatch], stores: Collection[str] = ()) -> list[FoundBatch]:
    """Return the batches sorted by sequence number. Of several copies, keep the first.

    `stores` contains the ids of the stores whose batches are kept. If empty, any store's are kept.
    """
    by_sequence: dict[int, FoundBatch] = {}
    for batch in batches:
        if not stores or batch.store in stores:
            by_sequence.setdefault(batch.first_sequence, batch)
    return [by_sequence[sequence] for sequence in sorted(by_sequence)]


def merged(blobs: Iterable[bytes], batches: Iterable[FoundBatch]) -> Iterator[bytes]:
    """Yield the blobs of intact files and of damaged ones in the order of their events.

    Blobs with an invalid CRC, whose sequence numbers are unknown, keep their position.
    """
    waiting = deque(batches)
    for blob in blobs:
        while has_valid_crc(blob) and waiting and waiting[0].first_sequence <= sequence_of(blob):
            batch = waiting.popleft()
            if batch.first_sequence < sequence_of(blob):
                yield from batch.read()
        yield blob
    for batch in waiting:
        yield from batch.read()


def last_start(blobs: list[bytes]) -> int:
    """Return the sequence number of the last valid blob's first event, or 0 without such a blob."""
    return next((sequence_of(blob) for blob in reversed(blobs) if has_valid_crc(blob)), 0)
