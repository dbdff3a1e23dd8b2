"""A journal that has lost its end: detected, reported, and its numbers are never reused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store.journal_end import (
    NOTE_SECONDS,
    RECORD_NAME,
    EndRecord,
    JournalEnd,
    read_end,
)
from gateway.broker.store.journal_files import FOLDER_NAME, frame_of, journal_files
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness, payloads
from tests.broker.store.journal_blobs import blob_of
from tests.broker.store.journal_damage import flip, frames_in, newest_file, overwrite

FILE_BYTES = 3_000
MESSAGES = 60


def queued(data_dir: Path, *, clean_stop: bool = False) -> int:
    """Queue messages and acknowledge them all; return the number of the last event."""
    harness = Harness(data_dir, journal_file_bytes=FILE_BYTES)
    harness.lose(harness.subscriber("away", "t", 1))
    harness.checkpoint()
    publisher = harness.connect("p", clean=True)
    for number in range(MESSAGES):
        publisher.send(Publish("t", b"%d" % number, 1, False, False, number + 1))
        harness.commit()
    last = harness.broker.batch.next_sequence - 1
    if clean_stop:
        harness.restart()
    harness.close()
    return last


def truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(len(path.read_bytes().rstrip(b"\0")) // 2)


def cut_at_a_frame(path: Path) -> None:
    at = [offset + length for where, offset, length in frames_in(path.parents[1]) if where == path]
    with path.open("r+b") as file:
        file.truncate(at[len(at) // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def missing(path: Path) -> None:
    path.unlink()


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def as_it_was_before(path: Path) -> None:
    """Restore an older copy of the file, which is valid and shorter."""
    cut_at_a_frame(path)
    with path.open("ab") as file:
        file.write(bytes(2_000))


def all_missing(path: Path) -> None:
    for other in path.parent.glob("*.ogj"):
        other.unlink()


DAMAGES = [truncated, cut_at_a_frame, emptied, missing, zeroed, as_it_was_before, all_missing]


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_end_that_was_acknowledged_and_is_missing_is_reported_with_its_events(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    last = queued(tmp_path)
    damage(newest_file(tmp_path))
    again = Harness(tmp_path)
    assert again.recovery is StartKind.SALVAGED
    (report,) = [each for each in again.damage if "is missing" in each]
    assert f"to {last}, " in report, "all that is missing, to the last event"
    assert " bytes of 00" in report
    kept = again.session("away").queued_count
    assert kept < MESSAGES
    assert again.broker.batch.next_sequence > last, "no number has two meanings"
    again.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_missing_end_is_reported_once_and_the_broker_works(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    queued(tmp_path)
    damage(newest_file(tmp_path))
    again = Harness(tmp_path)
    kept = again.session("away").queued_count
    again.commit()
    again.cut()
    assert again.damage == [], "the start before this one has reported it"
    again.connect("q", clean=True).send(Publish("t", b"after", 1, False, False, 1))
    again.commit()
    again.cut()
    assert again.damage == []
    assert again.session("away").queued_count == kept + 1
    again.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_after_a_clean_stop_the_tables_have_everything_and_the_missing_events_are_named(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    queued(tmp_path, clean_stop=True)
    damage(newest_file(tmp_path))
    again = Harness(tmp_path)
    assert again.recovery is StartKind.SALVAGED
    assert again.damage
    assert again.session("away").queued_count == MESSAGES
    again.close()


def test_an_end_that_comes_back_later_is_not_mixed_with_what_was_recorded_since(
    tmp_path: Path,
) -> None:
    queued(tmp_path)
    newest = newest_file(tmp_path)
    aside = tmp_path / "elsewhere"
    newest.rename(aside)
    again = Harness(tmp_path)
    kept = again.session("away").queued_count
    again.close()
    aside.rename(newest)
    again = Harness(tmp_path)
    assert again.session("away").queued_count == kept
    again.close()


@pytest.mark.parametrize("kept", [0, 1, 8, 40, 150])
def test_a_batch_that_was_being_written_when_the_power_went_is_not_damage(
    tmp_path: Path, kept: int
) -> None:
    last = queued(tmp_path)
    path, offset, length = frames_in(tmp_path)[-1]
    salt = journal_files(tmp_path / FOLDER_NAME)[-1].salt
    assert salt is not None
    overwrite(path, offset + length, frame_of(salt, blob_of(last + 1))[:kept])
    again = Harness(tmp_path)
    assert (again.damage, again.recovery) == ([], StartKind.UNCLEAN)
    assert again.session("away").queued_count == MESSAGES
    again.close()


def test_a_record_from_before_the_last_batches_is_not_damage(tmp_path: Path) -> None:
    """The end record is not fsynced with the batches: a power cut can leave an older record."""
    queued(tmp_path)
    record = tmp_path / RECORD_NAME
    older = record.read_bytes()
    again = Harness(tmp_path)
    again.connect("later")
    again.close()
    assert record.read_bytes() != older
    record.write_bytes(older)
    again = Harness(tmp_path)
    assert again.damage == []
    assert set(again.broker.state.sessions) == {"away", "later"}
    again.close()


def test_a_directory_without_the_record_is_one_of_an_earlier_version(tmp_path: Path) -> None:
    queued(tmp_path)
    (tmp_path / RECORD_NAME).unlink()
    again = Harness(tmp_path)
    assert again.damage == []
    again.close()
    assert (tmp_path / RECORD_NAME).exists()


@pytest.mark.parametrize("offset", [0, 5, 13, 22, 30, 38])
def test_a_damaged_record_is_reported_and_costs_nothing_else(tmp_path: Path, offset: int) -> None:
    queued(tmp_path)
    flip(tmp_path / RECORD_NAME, offset)
    again = Harness(tmp_path)
    (report,) = again.damage
    assert RECORD_NAME in report
    assert again.session("away").queued_count == MESSAGES
    again.cut()
    assert again.damage == []
    again.close()


@pytest.mark.parametrize("how", ["missing", "truncated", "emptied", "swapped", "of another store"])
def test_a_file_in_the_middle_costs_what_was_in_it_and_is_reported(
    tmp_path: Path, how: str
) -> None:
    data_dir = tmp_path / "data"
    last = queued(data_dir)
    files = journal_files(data_dir / FOLDER_NAME)
    assert len(files) >= 4
    middle, other = files[1], files[2]
    if how == "missing":
        middle.path.unlink()
    elif how == "truncated":
        cut_at_a_frame(middle.path)
    elif how == "emptied":
        emptied(middle.path)
    elif how == "swapped":
        contents = middle.path.read_bytes()
        middle.path.write_bytes(other.path.read_bytes())
        other.path.write_bytes(contents)
    else:
        queued(tmp_path / "other")
        foreign = journal_files(tmp_path / "other" / FOLDER_NAME)[1]
        middle.path.write_bytes(foreign.path.read_bytes())
    again = Harness(data_dir)
    if how == "swapped":
        assert again.damage == [], "the headers give the order"
        assert again.session("away").queued_count == MESSAGES
    else:
        assert any(
            f"events {middle.first_sequence} to" in each or " cannot be read" in each
            for each in again.damage
        )
        assert again.broker.batch.next_sequence > last
        seen = payloads(again.connect("away").take())
        numbers = [int(payload) for payload in seen]
        assert numbers == sorted(set(numbers))
    again.close()


def test_a_newest_file_of_another_store_is_set_aside_and_the_missing_end_reported(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    last = queued(data_dir)
    queued(tmp_path / "other")
    newest = newest_file(data_dir)
    newest.write_bytes(newest_file(tmp_path / "other").read_bytes())
    again = Harness(data_dir)
    assert any("another store" in each and newest.name in each for each in again.damage)
    assert any(f"to {last}, " in each for each in again.damage)
    assert list((data_dir / "damaged").glob(f"*/{newest.name}"))
    again.cut()
    assert again.damage == []
    again.close()


def test_a_database_that_is_gone_does_not_make_its_journal_one_of_another_store(
    tmp_path: Path,
) -> None:
    queued(tmp_path)
    for path in tmp_path.glob("broker.db*"):
        path.unlink()
    again = Harness(tmp_path)
    assert again.session("away").queued_count == MESSAGES
    again.connect("q", clean=True).send(Publish("t", b"after", 1, False, False, 1))
    again.commit()
    again.cut()
    assert again.damage == []
    assert again.session("away").queued_count == MESSAGES + 1
    again.close()


def test_the_record_is_overdue_after_a_while_and_when_a_file_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    record = EndRecord(tmp_path)
    record.begin(JournalEnd("0102030405060708", 10, 5, 1, 200))
    record.note(11, 6, 1, 300)
    assert not record.is_overdue(1)
    assert record.is_overdue(2)
    now += 2 * NOTE_SECONDS
    assert record.is_overdue(1)
    record.note(12, 7, 1, 400)
    assert not record.is_overdue(1)
    record.close()
    assert read_end(tmp_path) == (JournalEnd("0102030405060708", 12, 7, 1, 400), None)
