"""The store as a whole: what a start finds, when a checkpoint is due, what the journal keeps."""

from pathlib import Path

from gateway.core.records.kinds import StartKind
from gateway.store.checkpointing import CHECKPOINT_BYTES, REPLAY_BYTES_MAX
from gateway.store.database import DATABASE_NAME
from gateway.wire.packets import Publish
from tests.core.harness import Harness, payloads
from tests.store.data_directories import make_queue, make_state

LARGE_BYTES = 500_000


def test_a_database_that_is_gone_is_made_again_from_the_journal(tmp_path: Path) -> None:
    make_state(tmp_path)
    for path in tmp_path.glob(f"{DATABASE_NAME}*"):
        path.unlink()
    again = Harness(tmp_path)
    assert again.recovery is StartKind.SALVAGED
    assert again.damage == [f"{DATABASE_NAME} was missing beside its journal"]
    assert again.session("s").queued_count == 200
    assert "kept" in again.broker.state.retained
    again.close()


def test_a_journal_beyond_its_limit_loses_its_oldest_events_and_says_which(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path, journal_file_bytes=1_000)
    for number in range(20):
        harness.connect(f"c{number}")
    harness.checkpoint()
    store = harness.store
    total = store.journal_total_bytes
    lost = store.truncate_journal(total * 3 // 4)
    assert lost is not None
    assert lost[0] == 1
    assert 0 < store.journal_total_bytes <= total * 3 // 4
    harness.cut()
    assert len(harness.broker.state.sessions) == 20
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


def publish_in_a_short_life(harness: Harness, size_bytes: int, life: int) -> None:
    """Retain so many bytes, write no checkpoint, and lose the power."""
    publisher = harness.connect("p")
    for number in range(size_bytes // LARGE_BYTES + 1):
        payload = bytes([life]) * LARGE_BYTES
        publisher.send(Publish(f"t/{number}", payload, 1, True, False, 1))
        harness.commit()
    harness.cut()


def test_what_a_start_replays_counts_towards_the_next_checkpoint(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    for life in range(3):
        publish_in_a_short_life(harness, CHECKPOINT_BYTES // 3, life)
    assert harness.store.wants_checkpoint(harness.broker.changes, 5.0, harness.now)
    harness.checkpoint()
    harness.cut()
    assert harness.recovered.replayed_bytes < LARGE_BYTES
    assert not harness.store.wants_checkpoint(harness.broker.changes, 5.0, harness.now)


def test_lives_too_short_for_a_checkpoint_do_not_make_the_replay_longer_and_longer(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path)
    replayed = []
    for life in range(6):
        publish_in_a_short_life(harness, REPLAY_BYTES_MAX // 3, life)
        replayed.append(harness.recovered.replayed_bytes)
    # The third start has covered what it replayed; the fourth has replayed one life.
    assert replayed[2] >= REPLAY_BYTES_MAX
    assert replayed[3] < replayed[2] / 2
    assert max(replayed) < 2 * REPLAY_BYTES_MAX
    retained = harness.broker.state.retained.values()
    assert {message.payload for message in retained} == {bytes([5]) * LARGE_BYTES}
