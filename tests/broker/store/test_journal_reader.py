"""Another process reads the journal: in order, and from the right file even after damage."""

import os
from pathlib import Path

import pytest

from gateway.broker.core.records.blob import Blob
from gateway.broker.store.database import DATABASE_NAME, set_aside
from gateway.broker.store.journal_files import FOLDER_NAME, journal_files
from gateway.broker.store.journal_reader import JournalReader
from tests.broker.core.harness import Harness


def sequences(blobs: list[bytes]) -> list[int]:
    return [Blob(blob).first_sequence for blob in blobs]


def test_blobs_come_in_order_from_the_one_that_holds_the_next_event(tmp_path: Path) -> None:
    reader = JournalReader(tmp_path)
    assert reader.blobs_after(0, 1000) == []
    harness = Harness(tmp_path)
    for name in "abcdef":
        harness.connect(name)
    expected = sequences(harness.blobs)
    assert sequences(reader.blobs_after(0, 1_000_000)) == expected
    assert sequences(reader.blobs_after(0, 1)) == expected[:1]
    assert sequences(reader.blobs_after(expected[2] - 1, 1_000_000)) == expected[2:]
    assert sequences(reader.blobs_after(expected[3] - 1, 1)) == [expected[3]]
    harness.close()


def test_a_journal_goes_on_when_its_database_is_damaged(tmp_path: Path) -> None:
    reader = JournalReader(tmp_path)
    harness = Harness(tmp_path)
    harness.connect("old")
    blobs = harness.blobs
    assert reader.blobs_after(0, 1_000_000) == blobs
    harness.close()
    set_aside(tmp_path / DATABASE_NAME)
    assert reader.blobs_after(0, 1_000_000) == blobs
    again = Harness(tmp_path)
    again.connect("new")
    assert reader.blobs_after(0, 1_000_000) == blobs + again.blobs
    again.close()


def test_every_blob_comes_once_page_by_page_while_files_are_begun_and_dropped(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path, journal_file_bytes=1_500)
    reader = JournalReader(tmp_path)
    sequence = 0
    seen: list[int] = []
    for number in range(200):
        harness.connect(f"c{number % 7}")
        if number % 9 == 0:
            harness.checkpoint()
        if number % 5 == 0:
            while page := [
                blob for blob in reader.blobs_after(sequence, 400) if end_of(blob) > sequence
            ]:
                assert sequences(page)[0] == sequence + 1
                seen += sequences(page)
                sequence = end_of(page[-1])
            harness.store.exported_sequence = sequence
            harness.store.drop_exported()
    assert seen == sequences(harness.blobs)[: len(seen)]
    assert len(seen) >= 190
    assert len(list((tmp_path / "journal").glob("*.ogj"))) < 12
    harness.close()


def end_of(blob: bytes) -> int:
    opened = Blob(blob)
    return opened.first_sequence + opened.record_count - 1


def test_what_is_read_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(tmp_path)
    harness.connect("c")
    synced: list[int] = []
    fdatasync = os.fdatasync

    def watched(descriptor: int) -> None:
        synced.append(descriptor)
        fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", watched)
    reader = JournalReader(tmp_path)
    assert reader.blobs_after(0, 1_000_000) == harness.blobs
    assert len(synced) == 1
    # The exporter polls four times a second: without new batches the card must not be used.
    sequence = end_of(harness.blobs[-1])
    reader.blobs_after(sequence, 1_000_000)
    assert len(synced) == 1
    monkeypatch.undo()
    harness.connect("d")
    monkeypatch.setattr(os, "fdatasync", watched)
    assert harness.blobs[-1] in reader.blobs_after(sequence, 1_000_000)
    assert len(synced) == 2
    harness.close()


def test_a_folder_that_cannot_be_read_is_tried_again(tmp_path: Path) -> None:
    reader = JournalReader(tmp_path)
    harness = Harness(tmp_path)
    harness.connect("c")
    path = journal_files(tmp_path / FOLDER_NAME)[0].path
    path.rename(tmp_path / "away")
    path.mkdir()
    assert reader.blobs_after(0, 1000) == []
    path.rmdir()
    (tmp_path / "away").rename(path)
    assert reader.blobs_after(0, 1_000_000) == harness.blobs
    harness.close()
