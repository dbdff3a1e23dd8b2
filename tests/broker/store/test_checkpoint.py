"""Chunks of a checkpoint are limited in rows and bytes; the time is checked between two chunks."""

import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.broker.store.checkpoint import DELETED_MESSAGES, Checkpoint
from gateway.broker.store.row_writer import CHUNK_BYTES, CHUNK_ROWS
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness

MESSAGES = 40
PAYLOAD_BYTES = 60_000


class Chunks:
    """The rows of `messages` that each chunk of a checkpoint adds or removes."""

    def __init__(self, database: Path) -> None:
        self.connection = sqlite3.connect(database, isolation_level=None)

    def of(self, harness: Harness) -> tuple[list[int], list[int]]:
        """Write one checkpoint of all changes; return rows and bytes of each chunk."""
        recorder = harness.broker.batch
        checkpoint = Checkpoint(self.connection, harness.broker.state, recorder.next_sequence, None)
        totals = [self._messages()]
        self.connection.execute("BEGIN")
        is_last = False
        while not is_last:
            is_last = checkpoint.step()
            totals.append(self._messages())
        self.connection.execute("COMMIT")
        return _changes([rows for rows, _ in totals]), _changes([size for _, size in totals])

    def _messages(self) -> tuple[int, int]:
        found: tuple[int, int] = self.connection.execute(
            "SELECT count(*), coalesce(sum(length(payload)), 0) FROM messages"
        ).fetchone()
        return found


def _changes(totals: list[int]) -> list[int]:
    return [after - before for before, after in pairwise(totals)]


@pytest.mark.parametrize("kind", ["retained", "queued", "held"])
def test_no_chunk_has_more_than_its_bytes_and_one_message(tmp_path: Path, kind: str) -> None:
    harness = Harness(tmp_path)
    publisher = harness.connect("p")
    if kind == "queued":
        harness.lose(harness.subscriber("s", "#", 1))
    for number in range(1, MESSAGES + 1):
        qos = 2 if kind == "held" else 1
        payload = bytes(PAYLOAD_BYTES)
        publisher.send(Publish(f"t/{number}", payload, qos, kind == "retained", False, number))
        harness.commit()
    chunks = Chunks(tmp_path / "broker.db")
    rows, size_bytes = chunks.of(harness)
    assert sum(rows) == MESSAGES
    assert max(size_bytes) <= CHUNK_BYTES + PAYLOAD_BYTES
    if kind == "retained":
        for number in range(1, MESSAGES + 1):
            publisher.send(Publish(f"t/{number}", b"", 1, True, False, number))
            harness.commit()
        rows, _ = chunks.of(harness)
        assert sum(rows) == -MESSAGES
        assert min(rows) == -DELETED_MESSAGES


def test_small_messages_go_by_rows(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    publisher = harness.connect("p")
    for number in range(3 * CHUNK_ROWS):
        publisher.send(Publish(f"t/{number}", b"x", 1, True, False, number + 1))
        harness.commit()
    rows, _ = Chunks(tmp_path / "broker.db").of(harness)
    assert max(rows) == CHUNK_ROWS
    assert sum(rows) == 3 * CHUNK_ROWS
