"""Journal files that are removed: exported files, and the oldest files of a long journal."""

from pathlib import Path

from gateway.broker.core.records.events import Event, decode
from gateway.broker.store.journal_reader import JournalReader
from tests.broker.server.commit.on_disk import CommitterOnDisk

DETAIL = "x" * 200
FILE_BYTES = 300


def lost_events_of(data_dir: Path) -> list[Event]:
    blobs = JournalReader(data_dir).blobs_after(0, 1 << 20)
    events = [event for blob in blobs for event in decode(blob).events]
    return [event for event in events if event["event"] == "log_truncated"]


async def filled(data_dir: Path) -> CommitterOnDisk:
    """Commit ten batches, each in a file of its own, and write a checkpoint of them all."""
    on_disk = CommitterOnDisk(data_dir, journal_file_bytes=FILE_BYTES)
    for _ in range(10):
        await on_disk.commit(detail=DETAIL)
    await on_disk.checkpoint()
    return on_disk


async def test_what_is_exported_goes_and_is_not_reported_as_lost(tmp_path: Path) -> None:
    on_disk = await filled(tmp_path)
    room, before = on_disk.committer.journal_room, on_disk.store.journal_total_bytes
    room.exported(on_disk.recorder.next_sequence - 1)
    room.update_is_wanted(1 << 30)
    assert room.is_wanted
    await on_disk.commit()
    assert on_disk.store.journal_total_bytes < before
    assert lost_events_of(tmp_path) == []
    await on_disk.close()


async def test_what_was_exported_once_stays_exported(tmp_path: Path) -> None:
    on_disk = await filled(tmp_path)
    on_disk.committer.journal_room.exported(5)
    on_disk.committer.journal_room.exported(3)
    assert on_disk.store.exported_sequence == 5
    await on_disk.close()


async def test_a_journal_beyond_its_length_loses_its_oldest_part_and_the_session_log_reports_it(
    tmp_path: Path,
) -> None:
    on_disk = await filled(tmp_path)
    on_disk.committer.upkeep(3 * FILE_BYTES)
    await on_disk.commit()
    await on_disk.commit()
    assert on_disk.store.journal_total_bytes <= 6 * FILE_BYTES
    lost = lost_events_of(tmp_path)
    assert lost
    assert lost[0]["from_sequence"] == 1
    await on_disk.close()


async def test_what_is_given_up_for_want_of_room_goes_once(tmp_path: Path) -> None:
    on_disk = await filled(tmp_path)
    room = on_disk.committer.journal_room
    room.give_up(0)
    assert not room.is_wanted
    on_disk.committer.upkeep(1 << 30)
    room.give_up(on_disk.store.journal_total_bytes)
    assert room.is_wanted
    room.drop()
    assert on_disk.store.journal_total_bytes < 10 * FILE_BYTES
    after = on_disk.store.journal_total_bytes
    room.drop()
    assert on_disk.store.journal_total_bytes == after
    await on_disk.close()
