"""Files with damaged headers: every batch in them is read, in order, whatever else they hold."""

from pathlib import Path

import pytest

from gateway.broker.store.damaged_files import batches_in, damaged_of, in_order, last_start, merged
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    HEADER_BYTES,
    frame_of,
    journal_files,
    sequence_of,
)
from gateway.broker.store.journal_reader import JournalReader
from gateway.broker.store.medium import Contents
from tests.broker.store.journal_blobs import FRAMES_IN_A_FILE, blob_of, filled, reopened
from tests.broker.store.journal_damage import flip, overwrite

OLD = 2
"""Sequence number of an old batch in a file whose newer batches are lost."""


@pytest.fixture
def journal_dir(tmp_path: Path) -> Path:
    """Return a data directory whose second journal file has lost everything but an old batch."""
    filled(tmp_path, 1, 3 * FRAMES_IN_A_FILE).close()
    file = journal_files(tmp_path / FOLDER_NAME)[1]
    overwrite(file.path, 0, bytes(file.size_bytes))
    overwrite(file.path, HEADER_BYTES, frame_of(b"12345678", blob_of(OLD)))
    return tmp_path


LEFT = [*range(1, FRAMES_IN_A_FILE + 1), *range(2 * FRAMES_IN_A_FILE + 1, 3 * FRAMES_IN_A_FILE + 1)]


def test_an_old_batch_does_not_hide_the_file_of_the_checkpoint(journal_dir: Path) -> None:
    for checkpoint in range(1, FRAMES_IN_A_FILE + 1):
        _, sequences, damage = reopened(journal_dir, checkpoint)
        assert [each for each in sequences if each >= checkpoint] == [
            each for each in LEFT if each >= checkpoint
        ]
        assert len(damage) == 2  # the header, and the events that were in the file


def test_an_old_batch_does_not_make_the_file_before_it_droppable(journal_dir: Path) -> None:
    journal, _, _ = reopened(journal_dir)
    assert not journal.has_droppable(OLD + 1)
    assert not journal.has_droppable(2 * FRAMES_IN_A_FILE)
    first, damaged, _ = journal_files(journal_dir / FOLDER_NAME)
    found = journal.droppable(2 * FRAMES_IN_A_FILE + 1)
    assert [path for path, *_ in found] == [first.path, damaged.path]
    assert journal.drop(OLD + 1) is None


def test_the_export_reads_batches_behind_damaged_headers_page_by_page(tmp_path: Path) -> None:
    last = 3 * FRAMES_IN_A_FILE
    filled(tmp_path, 1, last).close()
    first, second, _ = journal_files(tmp_path / FOLDER_NAME)
    # The first file holds a later batch, the second an older one.
    for file, other in ((first, blob_of(2 * FRAMES_IN_A_FILE)), (second, blob_of(OLD))):
        contents = file.path.read_bytes()[: file.size_bytes]
        file.path.write_bytes(contents + frame_of(b"12345678", other))
        flip(file.path, 6)
    for bytes_max in (1, 500, 1_000_000):
        reader, sequence = JournalReader(tmp_path), 0
        found: list[int] = []
        while page := [
            each
            for each in map(sequence_of, reader.blobs_after(sequence, bytes_max))
            if each > sequence
        ]:
            found += page
            sequence = page[-1]
        assert found == list(range(1, last + 1))


def test_batches_are_found_once_with_their_position(tmp_path: Path) -> None:
    filled(tmp_path, 1, 3).close()
    (file,) = journal_files(tmp_path / FOLDER_NAME)
    assert damaged_of([file]) == []
    flip(file.path, 6)
    (file,) = damaged_of(journal_files(tmp_path / FOLDER_NAME))
    contents = Contents(file.path.read_bytes())
    found = in_order([*batches_in(file, contents), *batches_in(file, contents)])
    assert [batch.first_sequence for batch in found] == [1, 2, 3]
    assert [batch.read() for batch in found] == [[blob_of(1)], [blob_of(2)], [blob_of(3)]]
    assert in_order(found, {found[0].store}) == found
    assert in_order(found, {"another"}) == []
    flip(file.path, found[1].at + 50)
    assert [len(batch.read()) for batch in found] == [1, 0, 1]
    file.path.unlink()
    assert found[0].read() == []


def test_a_blob_without_a_valid_number_keeps_its_position(tmp_path: Path) -> None:
    filled(tmp_path, 1, 4).close()
    (file,) = journal_files(tmp_path / FOLDER_NAME)
    batches = in_order(batches_in(file, Contents(file.path.read_bytes())))
    torn = blob_of(9)[:-1] + b"?"
    blobs = [torn, blob_of(3), blob_of(4)]
    assert list(merged(blobs, [batches[0], batches[2]])) == [torn, blob_of(1), *blobs[1:]]
    assert list(merged([], batches)) == [blob_of(each) for each in (1, 2, 3, 4)]
    assert last_start([*blobs, torn]) == 4
    assert last_start([torn]) == 0


def test_a_newest_file_with_damage_before_the_checkpoint_is_not_continued(tmp_path: Path) -> None:
    filled(tmp_path, 1, 4).close()
    (file,) = journal_files(tmp_path / FOLDER_NAME)
    flip(file.path, HEADER_BYTES + 60)
    journal, sequences, _ = reopened(tmp_path, checkpoint=3)
    assert sequences == [2, 3, 4]
    journal.append(5, blob_of(5))
    journal.close()
    assert len(journal_files(tmp_path / FOLDER_NAME)) == 2
    assert list(map(sequence_of, JournalReader(tmp_path).blobs_after(4, 1_000)))[-1] == 5


def test_the_export_goes_on_after_damage_in_the_newest_file(tmp_path: Path) -> None:
    journal = filled(tmp_path, 1, 3)
    (file,) = journal_files(tmp_path / FOLDER_NAME)
    reader = JournalReader(tmp_path)
    assert len(reader.blobs_after(0, 1_000_000)) == 3
    flip(file.path, HEADER_BYTES + 2 * len(frame_of(b"12345678", blob_of(3))))
    journal.append(4, blob_of(4))
    assert list(map(sequence_of, reader.blobs_after(3, 1_000_000))) == [4]
    journal.close()
