"""Blobs and journals for the tests of the journal."""

from pathlib import Path
from zlib import crc32

from gateway.broker.core.records import layout
from gateway.broker.store.journal import Journal
from gateway.broker.store.journal_files import FOLDER_NAME, FRAME, HEADER_BYTES
from gateway.broker.store.journal_scan import JournalScan

FILE_BYTES = 2_000
FRAMES_IN_A_FILE = (FILE_BYTES - HEADER_BYTES) // (FRAME.size + 200)


def blob_of(sequence: int, size_bytes: int = 200) -> bytes:
    """Return a blob of this size with one event."""
    records = bytes(size_bytes - layout.BLOB_HEADER.size - layout.CRC.size)
    head = layout.BLOB_HEADER.pack(
        layout.BLOB_MAGIC, b"s" * 8, b"b" * 8, 0, 0, sequence, sequence, 1, 0, len(records), 0
    )
    return head + records + layout.CRC.pack(crc32(head + records))


def reopened(data_dir: Path, checkpoint: int = 1) -> tuple[Journal, list[int], list[str]]:
    """Return the journal as a start finds it, its sequence numbers, and its reported damage."""
    scan = JournalScan(data_dir / FOLDER_NAME, checkpoint)
    sequences = [blob.first_sequence for blob in scan.blobs()]
    journal = Journal(data_dir, FILE_BYTES)
    journal.resume(scan)
    return journal, sequences, scan.damage


def filled(data_dir: Path, first: int, last: int) -> Journal:
    journal, _, _ = reopened(data_dir)
    for sequence in range(first, last + 1):
        journal.append(sequence, blob_of(sequence))
    return journal
