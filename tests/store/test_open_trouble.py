"""Trouble at a start that is not damage, and damage that must not keep the broker down."""

from pathlib import Path

import pytest

from gateway.core.records.kinds import StartKind
from gateway.store.database import (
    DAMAGED_FOLDER,
    DATABASE_NAME,
    SALVAGED_NAME,
    StoreUnavailable,
)
from gateway.wire.packets import Publish
from tests.core.harness import Harness, payloads
from tests.store.journal_damage import flip, frames_in


def make_queue(data_dir: Path, *, checkpoint: bool) -> None:
    harness = Harness(data_dir)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("t", b"1", 1, False, False, 1))
    harness.commit()
    if checkpoint:
        harness.checkpoint()
    publisher.send(Publish("t", b"2", 1, False, False, 2))
    harness.commit()
    harness.close()


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_newest_blob_that_is_not_whole_was_being_written_when_the_power_went(
    tmp_path: Path, checkpoint: bool
) -> None:
    make_queue(tmp_path, checkpoint=checkpoint)
    path, offset, length = frames_in(tmp_path)[-1]
    flip(path, offset + length // 2)
    harness = Harness(tmp_path)
    assert harness.damage == []
    assert payloads(harness.connect("s").take()) == [b"1"]
    harness.cut()
    assert len(harness.session("s").outbound) == 1
    harness.close()


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_damaged_blob_costs_its_batch_and_not_the_next_ones(
    tmp_path: Path, checkpoint: bool
) -> None:
    make_queue(tmp_path, checkpoint=checkpoint)
    Harness(tmp_path).close()
    path, offset, length = frames_in(tmp_path)[-1]
    harness = Harness(tmp_path)
    harness.connect("another")
    harness.close()
    flip(path, offset + length // 2)
    harness = Harness(tmp_path)
    assert "journal events" in harness.damage[0]
    assert "the CRC does not match" in harness.damage[0]
    assert payloads(harness.connect("s").take()) == [b"1"]
    harness.cut()
    assert len(harness.session("s").outbound) == 1
    harness.close()


def test_a_database_that_cannot_be_opened_just_now_is_not_damaged(tmp_path: Path) -> None:
    make_queue(tmp_path, checkpoint=True)
    log = tmp_path / (DATABASE_NAME + "-wal")
    log.unlink(missing_ok=True)
    log.mkdir()
    with pytest.raises(StoreUnavailable, match=DATABASE_NAME):
        Harness(tmp_path)
    assert not (tmp_path / DAMAGED_FOLDER).exists()
    log.rmdir()
    harness = Harness(tmp_path)
    assert payloads(harness.connect("s").take()) == [b"1", b"2"]
    harness.close()


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


def test_an_exported_blob_that_no_table_covers_is_kept_over_two_cuts(tmp_path: Path) -> None:
    make_queue(tmp_path, checkpoint=False)
    harness = Harness(tmp_path)
    harness.commit()
    store = harness.store
    store.exported_sequence = harness.broker.batch.next_sequence - 1
    assert not store.has_droppable()
    store.begin(harness.broker.batch.next_sequence, None)
    assert not store.drop_exported()
    store.fsync_commit()
    harness.cut()
    assert payloads(harness.connect("s").take()) == [b"1", b"2"]
    harness.close()


def test_a_salvage_that_was_cut_short_is_finished_at_the_next_start(tmp_path: Path) -> None:
    make_queue(tmp_path, checkpoint=True)
    # The damaged file is in its folder, its companion is not, the replacement is not in place.
    (tmp_path / DATABASE_NAME).rename(tmp_path / SALVAGED_NAME)
    (tmp_path / (DATABASE_NAME + "-wal")).write_bytes(b"of the damaged file")
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert payloads(harness.connect("s").take()) == [b"1", b"2"]
    harness.close()
