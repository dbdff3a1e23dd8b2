"""The bytes of queued messages are counted after a restart as before."""

from pathlib import Path

from tests.broker.core.harness import Harness
from tests.broker.store.data_directories import make_queue


def test_bytes_in_the_tables_and_in_the_journal_count_together(tmp_path: Path) -> None:
    make_queue(tmp_path, checkpoint=True)
    harness = Harness(tmp_path)
    session = harness.session("s")
    # Two messages, each with a length of two bytes, the topic "t" and one byte of payload.
    assert (session.queued_count, session.queued_bytes) == (2, 2 * (2 + 1 + 1))
    assert session.owner is not None
    assert session.owner.queued_bytes == session.queued_bytes
    harness.close()
