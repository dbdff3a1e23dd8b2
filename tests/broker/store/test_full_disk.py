"""The store on a disk that is really full: a small tmpfs, which needs root."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.store.journal import Journal
from gateway.broker.store.journal_files import FOLDER_NAME
from gateway.broker.store.journal_scan import JournalScan
from gateway.broker.store.no_room import NoRoom
from gateway.broker.store.spare_files import RESERVE_NAME
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness
from tests.broker.store.journal_blobs import blob_of
from tests.small_disk import SmallDisk, small_disk

DISK_BYTES = 4 << 20
RESERVE_BYTES = 256 << 10


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", DISK_BYTES) as disk:
        yield disk


def opened(disk: SmallDisk) -> Journal:
    journal = Journal(disk.folder)
    scan = JournalScan(disk.folder / FOLDER_NAME, 1)
    list(scan.blobs())
    journal.resume(scan)
    return journal


def sequences_on(disk: SmallDisk) -> tuple[list[int], list[str]]:
    scan = JournalScan(disk.folder / FOLDER_NAME, 1)
    return [blob.first_sequence for blob in scan.blobs()], scan.damage


def append_until_full(journal: Journal, sequence: int, size_bytes: int = 3_000) -> int:
    """Append blobs until the disk is full; return the sequence number that was refused."""
    while True:
        try:
            journal.append(sequence, blob_of(sequence, size_bytes))
        except NoRoom:
            return sequence
        sequence += 1


@pytest.mark.parametrize("size_bytes", [100, 3_000, 40_000])
def test_a_blob_for_which_there_was_no_room_is_appended_when_there_is(
    disk: SmallDisk, size_bytes: int
) -> None:
    journal = opened(disk)
    journal.append(1, blob_of(1))
    disk.fill(leave_bytes=20_000)
    refused = append_until_full(journal, 2, size_bytes)
    for _ in range(3):
        with pytest.raises(NoRoom):
            journal.append(refused, blob_of(refused, size_bytes))
    # The incomplete frame is not a batch, not even after a power cut at this moment.
    assert sequences_on(disk) == (list(range(1, refused)), [])
    disk.empty()
    journal.append(refused, blob_of(refused, size_bytes))
    journal.append(refused + 1, blob_of(refused + 1))
    journal.close()
    assert sequences_on(disk) == (list(range(1, refused + 2)), [])


def test_on_a_full_disk_the_journal_goes_on_in_its_reserve(disk: SmallDisk) -> None:
    journal = opened(disk)
    journal.spare_files.create_reserve(RESERVE_BYTES)
    journal.append(1, blob_of(1))
    disk.fill()
    refused = append_until_full(journal, 2)
    assert refused * 3_000 > RESERVE_BYTES
    assert not (disk.folder / FOLDER_NAME / RESERVE_NAME).exists()
    assert sequences_on(disk) == (list(range(1, refused)), [])
    disk.empty()
    journal.append(refused, blob_of(refused))
    journal.close()
    assert sequences_on(disk) == (list(range(1, refused + 1)), [])


def test_what_the_journal_drops_on_a_full_disk_it_takes_again(disk: SmallDisk) -> None:
    journal = opened(disk)
    journal.spare_files.create_reserve(RESERVE_BYTES)
    journal.append(1, blob_of(1))
    disk.fill()
    sequence = 2
    for _ in range(12):
        sequence = append_until_full(journal, sequence)
        assert disk.free_bytes == 0
        # Drop all files before the newest one, as if the tables covered them.
        while journal.drop(sequence) is not None:
            pass
    assert sequence * 3_000 > 5 * RESERVE_BYTES
    journal.close()
    assert sequences_on(disk)[0][-1] == sequence - 1


def test_a_checkpoint_that_finds_the_disk_full_is_written_later_and_whole(disk: SmallDisk) -> None:
    harness = Harness(disk.folder)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    for number in range(1, 201):
        publisher.send(Publish("t", bytes(3_000), 1, False, False, number))
    harness.commit()
    harness.begin_checkpoint()
    disk.fill(leave_bytes=100_000)
    store = harness.store
    for _ in range(3):
        while store.checkpointing:
            store.begin(harness.broker.batch.next_sequence, None)
            store.step_checkpoint()
            store.commit_rows()
            store.rows_committed()
        assert store.checkpoint_lacks_room
        assert store.first_unwritten == 1
        store.resume_checkpoint()
    disk.empty()
    while store.checkpointing:
        store.begin(harness.broker.batch.next_sequence, None)
        store.step_checkpoint()
        store.commit_rows()
        store.rows_committed()
    store.checkpoint_finished(store.finish_checkpoint())
    assert store.first_unwritten == harness.broker.batch.next_sequence
    with sqlite3.connect(disk.folder / "broker.db") as tables:
        assert tables.execute("SELECT count(*) FROM messages").fetchone() == (200,)
        assert tables.execute("SELECT count(*) FROM queue").fetchone() == (200,)
    harness.close()
