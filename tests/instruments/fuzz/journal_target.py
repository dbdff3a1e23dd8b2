"""A journal damaged by its medium, as read by a start and by the export.

An input::

    checkpoint u8 | actions, each: kind u8 | count u8 | arguments

The actions damage the files of a complete journal. The promises, for data from the checkpoint on:
nothing is raised. Only written data are read, in order, and all data that no action touched.
Missing data before data that were read are reported, and so is an end that cannot be read. A start
can continue, and data that become readable again later are not mixed in. The export reads what a
start reads, page by page, also after files before the checkpoint were deleted.
"""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from zlib import crc32

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import has_valid_crc
from gateway.broker.store import medium
from gateway.broker.store.journal import Journal
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    FRAME,
    HEADER_BYTES,
    SALT_BYTES,
    frame_of,
    header_of,
    sequence_of,
)
from gateway.broker.store.journal_reader import JournalReader
from gateway.broker.store.journal_scan import Gap, JournalScan
from tests.instruments.fuzz.byte_program import ByteProgram, records_of
from tests.instruments.fuzz.scratch import scratch_root

FILES: Final = 3
BLOBS_IN_A_FILE: Final = 6
FILE_BYTES: Final = 16_384
PAGE_BYTES: Final = 2_000
"""Bytes that the export reads at a time. Doubled as long as it finds nothing new."""

STEP: Final = 64
"""The factor between a byte of the input and a place or length in a file."""

MakeScan = Callable[[Path, int, list[Gap]], JournalScan]


def blob_of(sequence: int, size_bytes: int, events: int = 1) -> bytes:
    """Return a blob whose records are filler."""
    records = bytes([sequence & 0xFF]) * (size_bytes - layout.BLOB_HEADER.size - layout.CRC.size)
    fields = (b"s" * 8, b"b" * 8, 0, 0, sequence, sequence, events, 0, len(records), 0)
    head = layout.BLOB_HEADER.pack(layout.BLOB_MAGIC, *fields)
    return head + records + layout.CRC.pack(crc32(head + records))


class WrittenFile:
    """A file of the journal when all its batches were acknowledged."""

    def __init__(self, number: int) -> None:
        self.name = f"{number + 1:010}.ogj"
        salt = bytes([number + 1]) * SALT_BYTES
        self.blobs: dict[int, bytes] = {}
        self.frames: dict[int, range] = {}
        """The place of each batch, by sequence number."""
        first = number * BLOBS_IN_A_FILE + 1
        contents = header_of(salt, first)
        for sequence in range(first, first + BLOBS_IN_A_FILE):
            blob = blob_of(sequence, 100 + 700 * (sequence % 5))
            frame = frame_of(salt, blob)
            self.blobs[sequence] = blob
            self.frames[sequence] = range(len(contents), len(contents) + len(frame))
            contents += frame
        self.contents = contents + bytes(-len(contents) % 512)


WRITTEN: Final = [WrittenFile(number) for number in range(FILES)]
BLOBS: Final = {seq: blob for file in WRITTEN for seq, blob in file.blobs.items()}


class Damaged:
    """The files after the actions, and the ranges that the actions changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contents: list[bytearray | None] = [bytearray(file.contents) for file in WRITTEN]
        self.touched: list[list[range]] = [[] for _ in WRITTEN]
        self.unreadable: list[list[range]] = [[] for _ in WRITTEN]
        self.read_bytes_max = 1 << 20
        self._numbers: dict[int, int] = {}
        """File numbers by inode."""

    def save(self) -> None:
        self.folder.mkdir(parents=True)
        for number, contents in enumerate(self.contents):
            if contents is not None:
                path = self.folder / WRITTEN[number].name
                path.write_bytes(contents)
                self._numbers[path.stat().st_ino] = number

    def _touch(self, number: int, at: int, data: bytes) -> None:
        contents = self.contents[number]
        if contents is None or not data:
            return
        # A write counts as damage only where the bytes differ.
        if contents[at : at + len(data)] != data:
            self.touched[number].append(range(at, at + len(data)))
        if len(contents) < at:
            contents.extend(bytes(at - len(contents)))
        contents[at : at + len(data)] = data

    # -- actions

    def flip(self, program: ByteProgram) -> None:
        number, at = self._place(program)
        contents = self.contents[number]
        if contents is not None and at < len(contents):
            self._touch(number, at, bytes([contents[at] ^ (program.byte() or 1)]))

    def zero(self, program: ByteProgram) -> None:
        number, at = self._place(program)
        self._touch(number, at, bytes(program.byte() * 16))

    def cut_short(self, program: ByteProgram) -> None:
        number, at = self._place(program)
        contents = self.contents[number]
        if contents is not None and at < len(contents):
            self.touched[number].append(range(at, len(contents)))
            del contents[at:]

    def make_unreadable(self, program: ByteProgram) -> None:
        number, at = self._place(program)
        length = program.byte() * STEP or FILE_BYTES
        self.unreadable[number].append(range(at, at + length))

    def remove(self, program: ByteProgram) -> None:
        number = program.byte() % FILES
        self.contents[number] = None
        self.touched[number].append(range(FILE_BYTES))

    def write(self, program: ByteProgram) -> None:
        number, at = self._place(program)
        self._touch(number, at, program.rest())

    def copy_what_is_older(self, program: ByteProgram) -> None:
        """Copy older batches into a file, as an earlier use of the file leaves them."""
        source, from_at = self._place(program)
        number, at = self._place(program)
        older = self.contents[source]
        if source < number and older is not None:
            self._touch(number, at, bytes(older[from_at : from_at + program.byte() * 16]))

    def read_in_pieces(self, program: ByteProgram) -> None:
        self.read_bytes_max = program.byte() * 7 + 97

    def _place(self, program: ByteProgram) -> tuple[int, int]:
        number = program.byte() % FILES
        return number, (program.byte() << 8 | program.byte()) % (len(WRITTEN[number].contents) + 99)

    # -- the meaning of the actions

    def is_untouched(self, number: int, where: range) -> bool:
        ranges = (*self.touched[number], *self._unreadable_blocks(number))
        return all(not _meet(where, each) for each in ranges)

    def is_unreadable(self, number: int, where: range) -> bool:
        return any(_meet(where, each) for each in self.unreadable[number])

    def size_of(self, number: int) -> int:
        return len(self.contents[number] or b"")

    def _unreadable_blocks(self, number: int) -> Iterator[range]:
        """Yield unreadable ranges extended to whole blocks, because a medium loses whole blocks."""
        size = medium.BLOCK_BYTES
        for each in self.unreadable[number]:
            yield range(each.start // size * size, -(-each.stop // size) * size)

    def pread(self, descriptor: int, count: int, at: int) -> bytes:
        """Read from a file as from this medium."""
        count = min(count, self.read_bytes_max)
        number = self._numbers.get(os.fstat(descriptor).st_ino)
        if number is not None and self.is_unreadable(number, range(at, at + count)):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return _pread(descriptor, count, at)


_pread = os.pread


def _meet(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


ACTIONS: Final = (
    Damaged.flip,
    Damaged.zero,
    Damaged.cut_short,
    Damaged.make_unreadable,
    Damaged.remove,
    Damaged.write,
    Damaged.copy_what_is_older,
    Damaged.read_in_pieces,
)


@contextmanager
def _reading_from(damaged: Damaged) -> Iterator[None]:
    retry_seconds = medium.READ_RETRY_SECONDS
    os.pread, medium.READ_RETRY_SECONDS = damaged.pread, 0.0
    try:
        yield
    finally:
        os.pread, medium.READ_RETRY_SECONDS = _pread, retry_seconds


def check(data: bytes, make: MakeScan = JournalScan) -> None:
    """Damage, read, continue and read again. Raise if a promise is broken."""
    with tempfile.TemporaryDirectory(prefix="fuzz-journal-", dir=scratch_root()) as directory:
        damaged = Damaged(Path(directory) / FOLDER_NAME)
        for record in records_of(data[1:]):
            if record:
                ACTIONS[record[0] % len(ACTIONS)](damaged, ByteProgram(record[1:]))
        damaged.save()
        checkpoint = data[0] % len(BLOBS) + 1 if data else 1
        with _reading_from(damaged):
            reading = make(damaged.folder, checkpoint, [])
            found = [(blob.first_sequence, blob.data) for blob in reading.blobs()]
            JournalReader(Path(directory)).blobs_after(0, 1 << 20)
        _check_found(damaged, reading, found)
        sequences = [sequence for sequence, _ in found if sequence >= checkpoint]
        _check_going_on(Path(directory), reading, sequences, make)


def _check_found(damaged: Damaged, reading: JournalScan, found: list[tuple[int, bytes]]) -> None:
    sequences = [sequence for sequence, _ in found]
    assert sequences == sorted(set(sequences)), f"out of order: {sequences}"
    for sequence, blob in found:
        assert BLOBS.get(sequence) == blob, f"{sequence} was never written like that"
    reported = {number for first, last in reading.gaps for number in range(first, last + 1)}
    last = max(sequences, default=0)
    header = range(HEADER_BYTES)
    for number, file in enumerate(WRITTEN):
        for sequence, frame in file.frames.items():
            if sequence in sequences or sequence < reading.checkpoint:
                continue
            whole = damaged.is_untouched(number, frame) and damaged.is_untouched(number, header)
            assert not whole, f"{sequence} is whole and was not read"
            assert sequence > last or sequence in reported, f"{sequence} is missing without a word"
            there = range(frame.start + FRAME.size, min(frame.stop, damaged.size_of(number)))
            if sequence > last and there and damaged.is_unreadable(number, there):
                assert reading.unread_end_bytes, f"{sequence} cannot be read: taken for the end"


def _check_going_on(
    data_dir: Path, reading: JournalScan, sequences: list[int], make: MakeScan
) -> None:
    """Check that a start continues after what it read, though the medium has recovered all data."""
    after_last = max(reading.next_sequence, reading.checkpoint)
    first = after_last + reading.unread_end_bytes
    for path in reading.unplaced:
        path.unlink()
    journal = Journal(data_dir, FILE_BYTES)
    journal.resume(reading)
    journal.append(first, blob_of(first, 150))
    journal.close()
    passed_over = [*reading.gaps]
    if reading.unread_end_bytes:
        passed_over.append((after_last, first - 1))
    checkpoint = reading.checkpoint
    again = _sequences_of(make(data_dir / FOLDER_NAME, checkpoint, passed_over))
    assert again == [*sequences, first], f"{sequences} and {first} became {again}"
    whole = _sequences_of(make(data_dir / FOLDER_NAME, checkpoint, []))
    exported = _exported(JournalReader(data_dir), checkpoint)
    assert exported == whole, f"{whole} was exported as {exported}"
    while journal.drop(checkpoint):
        pass
    left = _sequences_of(make(data_dir / FOLDER_NAME, checkpoint, []))
    assert left == whole, f"of {whole}, {left} are left after the checkpoint's files were deleted"


def _sequences_of(scan: JournalScan) -> list[int]:
    found = [blob.first_sequence for blob in scan.blobs()]
    return [sequence for sequence in found if sequence >= scan.checkpoint]


def _exported(reader: JournalReader, checkpoint: int) -> list[int]:
    """Return the sequence numbers of the batches as the export reads them, in small pages."""
    found: list[int] = []
    sequence, bytes_max = checkpoint - 1, PAGE_BYTES
    while bytes_max <= 2 * FILES * FILE_BYTES:
        page = [b for b in reader.blobs_after(sequence, bytes_max) if has_valid_crc(b)]
        new = [each for each in map(sequence_of, page) if each > sequence]
        found += new
        sequence = max([sequence, *new])
        bytes_max = PAGE_BYTES if new else 2 * bytes_max
    return found
