"""Read errors: a part that cannot be read is never treated as if it did not exist."""

from pathlib import Path

import pytest

from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store.journal import Journal
from gateway.broker.store.journal_files import FOLDER_NAME, FRAME, HEADER_BYTES, journal_files
from gateway.broker.store.journal_reader import UNREADABLE_TRIES_MAX, JournalReader
from gateway.broker.store.journal_scan import JournalScan
from gateway.broker.store.medium import BLOCK_BYTES, READ_ATTEMPTS
from gateway.broker.wire.packets import Puback, Publish
from tests.broker.core.harness import Harness
from tests.broker.store.bad_medium import BadMedium
from tests.broker.store.journal_blobs import blob_of
from tests.broker.store.journal_damage import frames_in, newest_file

PAYLOAD = b"x" * 300


@pytest.fixture
def medium(monkeypatch: pytest.MonkeyPatch) -> BadMedium:
    return BadMedium(monkeypatch)


def filled(data_dir: Path, count: int) -> None:
    journal = Journal(data_dir)
    journal.resume(JournalScan(data_dir / FOLDER_NAME, 1))
    for sequence in range(1, count + 1):
        journal.append(sequence, blob_of(sequence))
    journal.close()


def read(data_dir: Path) -> tuple[JournalScan, list[int]]:
    scan = JournalScan(data_dir / FOLDER_NAME, 1)
    return scan, [blob.first_sequence for blob in scan.blobs()]


def make_acknowledged(data_dir: Path, count: int) -> None:
    """Acknowledge `count` messages for a subscriber that is away, and kill the broker."""
    harness = Harness(data_dir)
    harness.lose(harness.subscriber("away", "t", 1))
    publisher = harness.connect("p", clean=True)
    for number in range(1, count + 1):
        publisher.send(Publish("t", b"%d " % number + PAYLOAD, 1, False, False, number))
        harness.commit()
    harness.close()


def numbers_of(harness: Harness) -> list[int]:
    found = []
    client = harness.connect("away")
    while taken := [packet for packet in client.take() if isinstance(packet, Publish)]:
        found += [int(bytes(packet.payload).split()[0]) for packet in taken]
        client.send(*(Puback(packet.packet_id) for packet in taken))
        harness.commit()
    return found


def test_blocks_in_the_middle_that_cannot_be_read_cost_what_was_in_them(
    tmp_path: Path, medium: BadMedium
) -> None:
    filled(tmp_path, 100)
    medium.fail(newest_file(tmp_path), BLOCK_BYTES, 2 * BLOCK_BYTES)
    scan, sequences = read(tmp_path)
    assert 75 < len(sequences) < 85
    assert (sequences[0], sequences[-1]) == (1, 100)
    assert len(scan.damage) == len(scan.gaps) == 1
    assert scan.unread_end_bytes == 0


def test_a_block_is_tried_again_before_it_counts_as_lost(tmp_path: Path, medium: BadMedium) -> None:
    filled(tmp_path, 100)
    medium.fail(newest_file(tmp_path), BLOCK_BYTES, BLOCK_BYTES + 1)
    read(tmp_path)
    # One read of the whole file, then the attempts for the block.
    assert medium.failures == 1 + READ_ATTEMPTS


def test_an_end_that_cannot_be_read_is_reported_and_not_taken_for_the_end(
    tmp_path: Path, medium: BadMedium
) -> None:
    make_acknowledged(tmp_path, 60)
    path = newest_file(tmp_path)
    medium.fail(path, 3 * BLOCK_BYTES, path.stat().st_size)
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    reported, missing, lost = harness.damage
    assert "the end of the journal cannot be read" in reported
    assert "the end of the journal is missing" in missing
    assert "lost with the end of the journal: up to " in lost
    assert path.name in reported
    kept = numbers_of(harness)
    assert kept == list(range(1, len(kept) + 1))
    assert 10 < len(kept) < 60
    harness.close()


def test_what_an_unreadable_end_gives_back_later_is_not_mixed_with_what_came_since(
    tmp_path: Path, medium: BadMedium
) -> None:
    make_acknowledged(tmp_path, 60)
    old = newest_file(tmp_path)
    last = max(
        Blob(blob).first_sequence
        for blob in journal_files(old.parent)[0].blobs(is_newest=True) or []
    )
    medium.fail(old, 3 * BLOCK_BYTES, old.stat().st_size)
    harness = Harness(tmp_path)
    first_session = harness.broker.state.next_session_number
    first_message = harness.broker.state.next_message_number
    publisher = harness.connect("p", clean=True)
    for number in (1001, 1002):
        publisher.send(Publish("t", b"%d " % number + PAYLOAD, 1, False, False, number))
        harness.commit()
    assert newest_file(tmp_path) != old
    assert journal_files(old.parent)[-1].first_sequence > last
    harness.close()
    medium.heal()
    again = Harness(tmp_path)
    assert (again.recovery, again.damage) == (StartKind.UNCLEAN, [])
    assert again.broker.state.next_session_number >= first_session
    assert again.broker.state.next_message_number >= first_message > 1_000_000
    kept = numbers_of(again)
    assert kept[-2:] == [1001, 1002]
    assert kept[:-2] == list(range(1, len(kept) - 1))
    assert len(kept) < 60
    again.close()


def test_a_middle_that_is_given_back_later_is_not_applied_behind_what_came_since(
    tmp_path: Path, medium: BadMedium
) -> None:
    make_acknowledged(tmp_path, 60)
    medium.fail(newest_file(tmp_path), 3 * BLOCK_BYTES, 4 * BLOCK_BYTES)
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    harness.connect("p", clean=True)
    harness.close()
    medium.heal()
    again = Harness(tmp_path)
    assert (again.recovery, again.damage) == (StartKind.UNCLEAN, [])
    kept = numbers_of(again)
    assert kept == sorted(set(kept))
    assert 40 < len(kept) < 60
    again.close()


def test_a_header_that_cannot_be_read_for_a_while_costs_nothing(
    tmp_path: Path, medium: BadMedium
) -> None:
    filled(tmp_path, 30)
    medium.fail(newest_file(tmp_path), 0, HEADER_BYTES)
    _, sequences = read(tmp_path)
    # The first block is lost with the header, and so are the frames in this block.
    assert sequences[-1] == 30
    assert len(sequences) > 5
    medium.heal()
    assert read(tmp_path)[1] == list(range(1, 31))


def test_a_file_of_which_nothing_can_be_read_is_reported_and_kept_aside(
    tmp_path: Path, medium: BadMedium
) -> None:
    make_acknowledged(tmp_path, 5)
    path = newest_file(tmp_path)
    medium.fail(path, 0, path.stat().st_size)
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert any(f"all of {path.name}" in reported for reported in harness.damage)
    harness.connect("later")
    harness.close()
    (kept,) = (tmp_path / "damaged").glob(f"*/{path.name}")
    medium.heal()
    assert kept.stat().st_size > 0
    again = Harness(tmp_path)
    assert (again.recovery, again.damage) == (StartKind.UNCLEAN, [])
    assert "later" in again.broker.state.sessions
    again.close()


def test_short_reads_are_no_end_of_a_file(tmp_path: Path, medium: BadMedium) -> None:
    filled(tmp_path, 100)
    medium.read_bytes_max = 77
    scan, sequences = read(tmp_path)
    assert (sequences, scan.damage) == (list(range(1, 101)), [])
    exported = JournalReader(tmp_path).blobs_after(0, 1 << 20)
    assert [Blob(blob).first_sequence for blob in exported] == list(range(1, 101))


@pytest.mark.parametrize("block", [1, 2])
def test_the_export_waits_for_a_block_that_cannot_be_read_and_then_goes_on_behind_it(
    tmp_path: Path, medium: BadMedium, block: int
) -> None:
    journal = Journal(tmp_path, file_bytes=6 * BLOCK_BYTES)
    journal.resume(JournalScan(tmp_path / FOLDER_NAME, 1))
    for sequence in range(1, 201):
        journal.append(sequence, blob_of(sequence))
    journal.close()
    oldest = journal_files(tmp_path / FOLDER_NAME)[0].path
    places = frames_in(tmp_path)
    bad = range(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)
    medium.fail(oldest, bad.start, bad.stop)
    reader = JournalReader(tmp_path)
    for _ in range(UNREADABLE_TRIES_MAX):
        assert reader.blobs_after(0, 1 << 20) == []
    behind = [Blob(blob).first_sequence for blob in reader.blobs_after(0, 1 << 20)]
    assert behind == [
        number
        for number, (path, offset, length) in enumerate(places, 1)
        if path != oldest or offset + length <= bad.start or offset - FRAME.size >= bad.stop
    ]
    assert 170 < len(behind) < 185
    medium.heal()
    again = JournalReader(tmp_path)
    assert len(again.blobs_after(0, 1 << 20)) == 200


def test_the_export_skips_nothing_that_it_can_read_a_moment_later(
    tmp_path: Path, medium: BadMedium
) -> None:
    journal = Journal(tmp_path, file_bytes=6 * BLOCK_BYTES)
    journal.resume(JournalScan(tmp_path / FOLDER_NAME, 1))
    for sequence in range(1, 201):
        journal.append(sequence, blob_of(sequence))
    journal.close()
    reader = JournalReader(tmp_path)
    for file in journal_files(tmp_path / FOLDER_NAME):
        for first in (0, 2 * BLOCK_BYTES):
            medium.fail(file.path, first, first + FRAME.size)
            reader.blobs_after(0, 1 << 20)
            medium.heal()
            assert len(reader.blobs_after(0, 1 << 20)) == 200
