"""Another process reads the journal: in order, and the right file even after damage."""

from pathlib import Path

from gateway.core.journal import Blob
from gateway.store.database import DATABASE_NAME, set_aside
from gateway.store.journal_reader import JournalReader
from tests.core.harness import Harness


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
    reader.close()
    harness.close()


def test_a_database_that_replaced_a_damaged_one_is_the_one_that_is_read(tmp_path: Path) -> None:
    reader = JournalReader(tmp_path)
    harness = Harness(tmp_path)
    harness.connect("old")
    assert reader.blobs_after(0, 1_000_000) == harness.blobs
    harness.close()
    set_aside(tmp_path / DATABASE_NAME)
    assert reader.blobs_after(0, 1_000_000) == []
    again = Harness(tmp_path)
    again.connect("new")
    assert reader.blobs_after(0, 1_000_000) == again.blobs
    reader.close()
    again.close()


def test_a_file_that_is_no_database_reads_as_nothing_and_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_NAME
    path.write_bytes(b"not a database" * 1000)
    reader = JournalReader(tmp_path)
    assert reader.blobs_after(0, 1000) == []
    harness = Harness(tmp_path)
    assert reader.blobs_after(0, 1_000_000) == harness.blobs
    harness.connect("c")
    assert reader.blobs_after(0, 1_000_000) == harness.blobs
    reader.close()
    harness.close()
