"""The journal as a start reads it, and reports of the parts that cannot be read."""

from pathlib import Path

import pytest

from gateway.broker.store.journal_files import FOLDER_NAME, FRAME, frame_of, journal_files
from gateway.broker.store.journal_scan import JournalScan
from tests.broker.core.harness import Harness
from tests.broker.store.journal_blobs import blob_of, filled, reopened
from tests.broker.store.journal_damage import flip, frames_in, overwrite


def test_a_start_reads_from_the_file_of_the_checkpoint_on(tmp_path: Path) -> None:
    filled(tmp_path, 1, 50).close()
    _, sequences, damage = reopened(tmp_path, checkpoint=40)
    assert damage == []
    assert 30 < sequences[0] <= 40
    assert sequences[-1] == 50


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


@pytest.mark.parametrize("where", ["length", "check", "middle", "end"])
@pytest.mark.parametrize("number", [0, 3, 20])
def test_of_a_damaged_batch_only_that_one_is_missing_and_it_is_reported(
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
def test_behind_a_damaged_header_every_batch_is_read_and_the_damage_reported(
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


def test_a_file_that_is_missing_is_reported_as_the_events_that_are(tmp_path: Path) -> None:
    filled(tmp_path, 1, 30).close()
    files = journal_files(tmp_path / FOLDER_NAME)
    files[2].path.unlink()
    _, sequences, damage = reopened(tmp_path)
    lost = range(files[2].first_sequence, files[3].first_sequence)
    assert sequences == [other for other in range(1, 31) if other not in lost]
    assert damage == [
        f"journal events {lost[0]} to {lost[-1]} cannot be read (before {files[3].path.name})"
    ]


def test_a_journal_that_ends_before_the_checkpoint_is_damaged(tmp_path: Path) -> None:
    filled(tmp_path, 1, 3).close()
    damage = reopened(tmp_path, checkpoint=10)[2]
    assert damage == ["journal events 4 to 9 cannot be read: they are in the tables"]


def test_an_exported_journal_that_is_kept_is_not_read_whole_at_a_start(tmp_path: Path) -> None:
    harness = Harness(tmp_path, journal_file_bytes=1_000)
    for _ in range(50):
        harness.lose(harness.connect("c"))
        harness.commit()
    harness.checkpoint()
    sequence = harness.broker.batch.next_sequence
    for path, offset, length in frames_in(tmp_path)[:-1]:
        flip(path, offset + length - 5)
    harness.close()
    harness = Harness(tmp_path)
    assert harness.damage == []
    assert harness.recovered.next_sequence == sequence
    harness.close()


@pytest.mark.parametrize(
    ("skipped_gaps", "gaps"),
    [
        ([], [(3, 3)]),
        ([(3, 3)], []),
        ([(1, 2), (3, 7)], []),
        ([(4, 4)], [(3, 4)]),
    ],
)
def test_a_gap_that_an_earlier_start_passed_over_is_not_reported_again(
    tmp_path: Path, skipped_gaps: list[tuple[int, int]], gaps: list[tuple[int, int]]
) -> None:
    filled(tmp_path, 1, 5).close()
    path, offset, _ = frames_in(tmp_path)[2]
    flip(path, offset)
    scan = JournalScan(tmp_path / FOLDER_NAME, 1, skipped_gaps)
    found = [blob.first_sequence for blob in scan.blobs()]
    assert scan.gaps == gaps
    assert len(scan.damage) == len(gaps)
    kept = [1, 2, 4, 5]
    assert found == [each for each in kept if not any(a <= each <= b for a, b in skipped_gaps)]
