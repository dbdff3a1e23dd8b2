"""Damage to the journal's files, as a failing disk causes it."""

from pathlib import Path

from gateway.broker.store.journal_end import EndRecord, JournalEnd, read_end
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    FRAME,
    HEADER_BYTES,
    frames,
    journal_files,
    sequence_of,
)


def newest_file(data_dir: Path) -> Path:
    """Return the path of the file that the journal is written to."""
    return journal_files(data_dir / FOLDER_NAME)[-1].path


def frames_in(data_dir: Path) -> list[tuple[Path, int, int]]:
    """Return file, offset and length of the blob of each batch."""
    return [
        (file.path, at + FRAME.size, len(blob))
        for file in journal_files(data_dir / FOLDER_NAME)
        for at, blob in frames(file.path.read_bytes(), HEADER_BYTES, file.salt)
    ]


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Overwrite the bytes of a file at this offset."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def flip(path: Path, offset: int) -> None:
    """Flip one bit of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def take_newest_for_unfinished(data_dir: Path) -> None:
    """Restore the end record to its state while the newest batch was still being written."""
    end, _ = read_end(data_dir)
    path, offset, length = frames_in(data_dir)[-1]
    assert end is not None
    with path.open("rb") as file:
        file.seek(offset)
        sequence = sequence_of(file.read(length))
    record = EndRecord(data_dir)
    begin = offset - FRAME.size
    record.begin(JournalEnd(end.store, sequence, end.next_message, end.file_number, begin))
    record.close()
