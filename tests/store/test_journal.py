"""The journal's files: what was fsynced is read again, whatever else the disk has."""

import errno
import os
from pathlib import Path
from zlib import crc32

import pytest

from gateway.core.records import layout
from gateway.core.records.blob import Blob
from gateway.store.journal import ROOM_BYTES, SPARE_NAME, Journal
from gateway.store.journal_files import (
    FOLDER_NAME,
    FRAME,
    HEADER_BYTES,
    frame_of,
    frames,
    header_of,
    journal_files,
)
from gateway.store.journal_reader import JournalReader
from gateway.store.journal_reading import JournalReading
from tests.store.journal_damage import flip, frames_in, newest_file, overwrite

FILE_BYTES = 2_000


def blob_of(sequence: int, size_bytes: int = 200) -> bytes:
    """Return a blob with one event."""
    records = bytes(size_bytes - layout.BLOB_HEADER.size - layout.CRC.size)
    head = layout.BLOB_HEADER.pack(
        layout.BLOB_MAGIC, b"s" * 8, b"b" * 8, 0, 0, sequence, sequence, 1, 0, len(records), 0
    )
    return head + records + layout.CRC.pack(crc32(head + records))


def reopened(data_dir: Path, checkpoint: int = 1) -> tuple[Journal, list[int], list[str]]:
    """Return the journal as a start finds it, the sequences in it and what is damaged."""
    reading = JournalReading(data_dir / FOLDER_NAME, checkpoint)
    sequences = [blob.first_sequence for blob in reading.blobs()]
    journal = Journal(data_dir, FILE_BYTES)
    journal.resume(reading)
    return journal, sequences, reading.damage


def filled(data_dir: Path, first: int, last: int) -> Journal:
    journal, _, _ = reopened(data_dir)
    for sequence in range(first, last + 1):
        journal.append(sequence, blob_of(sequence))
    return journal


def test_what_was_appended_is_read_again_over_several_files(tmp_path: Path) -> None:
    filled(tmp_path, 1, 50).close()
    files = journal_files(tmp_path / FOLDER_NAME)
    assert len(files) > 5
    assert all(file.size_bytes <= FILE_BYTES for file in files)
    journal, sequences, damage = reopened(tmp_path)
    assert (sequences, damage) == (list(range(1, 51)), [])
    journal.append(51, blob_of(51))
    journal.close()
    assert reopened(tmp_path)[1] == list(range(1, 52))


def test_a_start_reads_from_the_file_of_the_checkpoint_on(tmp_path: Path) -> None:
    filled(tmp_path, 1, 50).close()
    _, sequences, damage = reopened(tmp_path, checkpoint=40)
    assert damage == []
    assert 30 < sequences[0] <= 40
    assert sequences[-1] == 50


def test_few_commits_make_a_file_longer(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.resume(JournalReading(tmp_path / FOLDER_NAME, 1))
    lengths = set()
    for sequence in range(1, 301):
        journal.append(sequence, blob_of(sequence))
        lengths.add(newest_file(tmp_path).stat().st_size)
    assert lengths == {ROOM_BYTES}
    journal.append(301, blob_of(301, 3 * ROOM_BYTES))
    assert reopened(tmp_path)[1] == list(range(1, 302))
    journal.close()


def test_a_batch_larger_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    journal = filled(tmp_path, 1, 3)
    journal.append(4, blob_of(4, 3 * FILE_BYTES))
    journal.append(5, blob_of(5))
    assert len(journal_files(tmp_path / FOLDER_NAME)) == 3
    assert reopened(tmp_path)[1] == [1, 2, 3, 4, 5]
    journal.drop(5)
    assert [file.first_sequence for file in journal_files(tmp_path / FOLDER_NAME)] == [5]
    assert (tmp_path / FOLDER_NAME / SPARE_NAME).stat().st_size <= FILE_BYTES
    journal.close()


FRAMES_IN_A_FILE = (FILE_BYTES - HEADER_BYTES) // (FRAME.size + 200)


def test_a_file_that_is_used_again_shows_nothing_of_its_earlier_use(tmp_path: Path) -> None:
    last = 4 * FRAMES_IN_A_FILE
    journal = filled(tmp_path, 1, last)
    assert journal.drop(last) is not None
    spare = tmp_path / FOLDER_NAME / SPARE_NAME
    inode = spare.stat().st_ino
    journal.append(last + 1, blob_of(last + 1, 1_300))
    assert not spare.exists()
    assert newest_file(tmp_path).stat().st_ino == inode
    assert layout.BLOB_MAGIC in newest_file(tmp_path).read_bytes()[-500:]
    journal.close()
    journal, sequences, damage = reopened(tmp_path, checkpoint=last)
    assert damage == []
    assert sequences[-1] == last + 1
    journal.append(last + 2, blob_of(last + 2))
    journal.close()
    assert reopened(tmp_path, checkpoint=last)[1][-2:] == [last + 1, last + 2]


def test_a_file_whose_new_name_was_lost_with_the_power_is_known_by_its_header(
    tmp_path: Path,
) -> None:
    last = 4 * FRAMES_IN_A_FILE
    journal = filled(tmp_path, 1, last)
    oldest = journal_files(tmp_path / FOLDER_NAME)[0].path
    journal.drop(last)
    journal.append(last + 1, blob_of(last + 1))
    journal.close()
    newest_file(tmp_path).rename(oldest)
    journal, sequences, damage = reopened(tmp_path, checkpoint=last)
    assert damage == []
    assert sequences[-1] == last + 1
    journal.append(last + 2, blob_of(last + 2))
    journal.close()
    assert reopened(tmp_path, checkpoint=last)[1][-1] == last + 2


@pytest.mark.parametrize("kept", [1, FRAME.size, FRAME.size + 30, 150, 207])
def test_a_frame_that_was_being_written_when_the_power_went_is_passed_over(
    tmp_path: Path, kept: int
) -> None:
    filled(tmp_path, 1, 3).close()
    path, offset, length = frames_in(tmp_path)[-1]
    salt = journal_files(tmp_path / FOLDER_NAME)[-1].salt
    assert salt is not None
    overwrite(path, offset + length, frame_of(salt, blob_of(4))[:kept])
    journal, sequences, damage = reopened(tmp_path)
    assert (sequences, damage) == ([1, 2, 3], [])
    journal.append(4, blob_of(4, 100))
    journal.close()
    assert reopened(tmp_path)[1:] == ([1, 2, 3, 4], [])


def test_a_torn_frame_whose_ends_were_written_is_passed_over(tmp_path: Path) -> None:
    filled(tmp_path, 1, 3).close()
    path, offset, length = frames_in(tmp_path)[-1]
    overwrite(path, offset + length // 2, b"\xff" * 20)
    journal, sequences, damage = reopened(tmp_path)
    assert (sequences, damage) == ([1, 2], [])
    journal.append(3, blob_of(3, 100))
    journal.close()
    assert reopened(tmp_path)[1:] == ([1, 2, 3], [])


def test_a_torn_frame_is_no_damage_when_the_next_one_goes_into_another_file(
    tmp_path: Path,
) -> None:
    filled(tmp_path, 1, 3).close()
    path, offset, length = frames_in(tmp_path)[-1]
    overwrite(path, offset + length // 2, b"\xff" * 20)
    journal, _, _ = reopened(tmp_path)
    journal.append(3, blob_of(3, FILE_BYTES - HEADER_BYTES - FRAME.size))
    journal.close()
    assert len(journal_files(tmp_path / FOLDER_NAME)) == 2
    exported = JournalReader(tmp_path).blobs_after(0, 1_000_000)
    assert [Blob(blob).first_sequence for blob in exported] == [1, 2, 3]


def test_files_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, 1, 3).close()
    newest = newest_file(tmp_path)
    for name in ("1 (copy).ogj", "0000000001.ogj.bak", "99999999999.ogj", "notes.txt"):
        (newest.parent / name).write_bytes(newest.read_bytes())
    journal, sequences, damage = reopened(tmp_path)
    assert (sequences, damage) == ([1, 2, 3], [])
    journal.append(4, blob_of(4))
    journal.close()
    assert reopened(tmp_path)[1] == [1, 2, 3, 4]
    assert len(list(newest.parent.iterdir())) == 5


@pytest.mark.parametrize("where", ["length", "check", "middle", "end"])
@pytest.mark.parametrize("number", [0, 3, 20])
def test_of_a_damaged_batch_only_that_one_is_missing_and_it_is_told(
    tmp_path: Path, where: str, number: int
) -> None:
    filled(tmp_path, 1, 30).close()
    path, offset, length = frames_in(tmp_path)[number]
    flip(
        path, offset + {"length": -8, "check": -4, "middle": length // 2, "end": length - 1}[where]
    )
    journal, sequences, damage = reopened(tmp_path)
    assert sequences == [other for other in range(1, 31) if other != number + 1]
    assert len(damage) == 1
    assert f"events {number + 1} to {number + 1} cannot be read" in damage[0]
    journal.append(31, blob_of(31))
    journal.close()
    assert reopened(tmp_path)[1][-2:] == [30, 31]


@pytest.mark.parametrize("index", [0, 2, -1])
def test_behind_a_damaged_header_every_batch_is_read_and_the_damage_told(
    tmp_path: Path, index: int
) -> None:
    filled(tmp_path, 1, 30).close()
    flip(journal_files(tmp_path / FOLDER_NAME)[index].path, 6)
    journal, sequences, damage = reopened(tmp_path)
    assert sequences == list(range(1, 31))
    assert len(damage) == 1
    assert "header of " in damage[0]
    journal.append(31, blob_of(31))
    journal.close()
    assert reopened(tmp_path)[1] == list(range(1, 32))


def test_a_file_that_is_missing_is_told_as_the_events_that_are(tmp_path: Path) -> None:
    filled(tmp_path, 1, 30).close()
    files = journal_files(tmp_path / FOLDER_NAME)
    files[2].path.unlink()
    _, sequences, damage = reopened(tmp_path)
    lost = range(files[2].first_sequence, files[3].first_sequence)
    assert sequences == [other for other in range(1, 31) if other not in lost]
    assert damage == [f"journal events {lost[0]} to {lost[-1]} cannot be read"]


def test_a_journal_that_ends_before_the_checkpoint_is_damaged(tmp_path: Path) -> None:
    filled(tmp_path, 1, 3).close()
    damage = reopened(tmp_path, checkpoint=10)[2]
    assert damage == ["journal events 4 to 9 cannot be read: they are in the tables"]


def test_what_a_client_sent_is_no_frame_wherever_it_lies(tmp_path: Path) -> None:
    # A whole frame and a whole blob as a payload, where reading goes on behind damage.
    journal = filled(tmp_path, 1, 2)
    forged = header_of(b"12345678", 3) + frame_of(b"12345678", blob_of(99))
    records = blob_of(3, 800)
    carrier = bytearray(records[:-4])
    carrier[100 : 100 + len(forged)] = forged
    journal.append(3, bytes(carrier) + layout.CRC.pack(crc32(bytes(carrier))))
    journal.append(4, blob_of(4))
    journal.close()
    path, offset, _ = frames_in(tmp_path)[2]
    flip(path, offset - FRAME.size)
    _, sequences, damage = reopened(tmp_path)
    assert sequences == [1, 2, 4]
    assert len(damage) == 1


@pytest.mark.parametrize("contents", [b"", b"x", bytes(5_000), os.urandom(5_000)])
def test_a_file_of_anything_is_passed_over(tmp_path: Path, contents: bytes) -> None:
    filled(tmp_path, 1, 3).close()
    (tmp_path / FOLDER_NAME / "0000000007.ogj").write_bytes(contents)
    journal, sequences, _ = reopened(tmp_path)
    assert sequences == [1, 2, 3]
    journal.append(4, blob_of(4))
    journal.close()
    assert reopened(tmp_path)[1] == [1, 2, 3, 4]


def test_only_whole_files_of_what_may_go_are_dropped_and_the_newest_stays(tmp_path: Path) -> None:
    journal = filled(tmp_path, 1, 40)
    firsts = [file.first_sequence for file in journal_files(tmp_path / FOLDER_NAME)]
    assert journal.drop(firsts[1] - 1) is None
    assert journal.drop(firsts[1]) == (1, firsts[1])
    assert not journal.has_droppable(firsts[2] - 1)
    assert journal.has_droppable(firsts[2])
    total = journal.total_bytes
    assert journal.drop(41, bytes_max=total - 1) == (firsts[1], firsts[2])
    assert journal.total_bytes < total
    while journal.drop(41) is not None:
        assert journal.total_bytes > 0
    assert [file.first_sequence for file in journal_files(tmp_path / FOLDER_NAME)] == [firsts[-1]]
    journal.close()


def test_a_write_that_takes_only_a_part_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = filled(tmp_path, 1, 1)
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, bytes(data)[:33], at))
    journal.append(2, blob_of(2))
    monkeypatch.undo()
    journal.close()
    assert reopened(tmp_path)[1] == [1, 2]


def test_a_disk_that_fails_fails_the_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = filled(tmp_path, 1, 1)

    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", failing)
    with pytest.raises(OSError, match="Input/output"):
        journal.append(2, blob_of(2))
    journal.close()


def test_the_newest_frame_is_written_once_more_at_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A failed fsync leaves pages in the cache that the disk does not have.
    filled(tmp_path, 1, 3).close()
    path, offset, length = frames_in(tmp_path)[-1]
    written = []
    pwrite = os.pwrite

    def watched(descriptor: int, data: bytes, at: int) -> int:
        written.append((at, bytes(data)))
        return pwrite(descriptor, data, at)

    monkeypatch.setattr(os, "pwrite", watched)
    journal, _, _ = reopened(tmp_path)
    journal.close()
    ((at, data),) = written
    assert at == offset - FRAME.size
    assert data[: FRAME.size + length] == path.read_bytes()[at : offset + length]


def test_every_position_of_a_file_can_be_where_reading_begins(tmp_path: Path) -> None:
    filled(tmp_path, 1, 5).close()
    file = journal_files(tmp_path / FOLDER_NAME)[0]
    data = file.path.read_bytes()
    starts = [offset - FRAME.size for _, offset, _ in frames_in(tmp_path)]
    for at in range(HEADER_BYTES, len(data)):
        found = [position for position, _ in frames(data, at, file.salt)]
        assert found == [start for start in starts if start >= at]
    assert [Blob(blob).first_sequence for _, blob in frames(data, 0, file.salt)] == [1, 2, 3, 4, 5]
