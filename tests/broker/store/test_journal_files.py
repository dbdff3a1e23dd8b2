"""The files of the journal: headers, frames, and their order."""

import os
from pathlib import Path
from zlib import crc32

import pytest

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import Blob
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    FRAME,
    HEADER_BYTES,
    boot_of,
    frame_of,
    frames,
    header_of,
    journal_files,
    salt_in,
    sequence_of,
)
from tests.broker.store.journal_blobs import FRAMES_IN_A_FILE, blob_of, filled, reopened
from tests.broker.store.journal_damage import flip, frames_in, newest_file, overwrite


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


def test_what_a_client_sent_is_no_frame_wherever_it_lies(tmp_path: Path) -> None:
    # A payload in the damaged batch looks like a frame with a blob of its own.
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


def test_every_position_of_a_file_can_be_where_reading_begins(tmp_path: Path) -> None:
    filled(tmp_path, 1, 5).close()
    file = journal_files(tmp_path / FOLDER_NAME)[0]
    data = file.path.read_bytes()
    starts = [offset - FRAME.size for _, offset, _ in frames_in(tmp_path)]
    for at in range(HEADER_BYTES, len(data)):
        found = [position for position, _ in frames(data, at, file.salt)]
        assert found == [start for start in starts if start >= at]
    assert [Blob(blob).first_sequence for _, blob in frames(data, 0, file.salt)] == [1, 2, 3, 4, 5]


def test_a_header_is_read_as_it_was_written_and_no_bit_of_it_may_change() -> None:
    header = header_of(b"saltsalt", 77)
    assert len(header) == HEADER_BYTES
    assert salt_in(header + b"behind") == (b"saltsalt", 77)
    for cut in range(HEADER_BYTES):
        assert salt_in(header[:cut]) is None
    for bit in range(8 * HEADER_BYTES):
        changed = bytearray(header)
        changed[bit // 8] ^= 1 << bit % 8
        assert salt_in(bytes(changed)) is None


def test_a_frame_counts_only_in_a_file_with_its_salt() -> None:
    blob = blob_of(5)
    data = frame_of(b"saltsalt", blob)
    assert list(frames(data, 0, b"saltsalt")) == [(0, blob)]
    assert list(frames(data, 0, b"anothers")) == []
    # With a damaged header, each blob is checked by its own CRC.
    assert list(frames(data, 0, None)) == [(0, blob)]
    assert (sequence_of(blob), boot_of(blob)) == (5, (b"b" * 8).hex())


def test_frames_behind_damage_are_found_only_where_they_are_looked_for() -> None:
    first, second = frame_of(b"saltsalt", blob_of(1)), frame_of(b"saltsalt", blob_of(2))
    data = bytes(len(first)) + second
    assert [at for at, _ in frames(data, 0, b"saltsalt")] == [len(first)]
    assert list(frames(data, 0, b"saltsalt", after_damage=False)) == []


def test_a_file_that_was_begun_again_since_it_was_found_is_not_read(tmp_path: Path) -> None:
    filled(tmp_path, 1, 3).close()
    (file,) = journal_files(tmp_path / FOLDER_NAME)
    assert file.read() is not None
    overwrite(file.path, 0, header_of(b"anothers", 9))
    assert file.read() is None
    file.path.unlink()
    assert file.read() is None
    assert file.blobs(is_newest=True) is None
