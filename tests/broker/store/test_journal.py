"""The journal's files: fsynced blobs are read again, whatever other bytes the disk has."""

import errno
import os
from pathlib import Path

import pytest

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import Blob
from gateway.broker.store.journal import ROOM_BYTES, Journal
from gateway.broker.store.journal_files import FOLDER_NAME, FRAME, HEADER_BYTES, journal_files
from gateway.broker.store.journal_reader import JournalReader
from gateway.broker.store.journal_scan import JournalScan
from gateway.broker.store.spare_files import SPARE_NAME
from tests.broker.store.journal_blobs import FILE_BYTES, FRAMES_IN_A_FILE, blob_of, filled, reopened
from tests.broker.store.journal_damage import frames_in, newest_file, overwrite


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


def test_few_commits_make_a_file_longer(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.resume(JournalScan(tmp_path / FOLDER_NAME, 1))
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
    # After a failed fsync, the cache can hold pages that the disk does not.
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
