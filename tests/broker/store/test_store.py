"""The events that the journal keeps, and those that it drops when it has reached its limit."""

from pathlib import Path

from tests.broker.core.harness import Harness, payloads
from tests.broker.store.data_directories import make_queue


def test_a_journal_beyond_its_limit_loses_its_oldest_events_and_states_which(
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
