"""The WAL has its length before commits need it, and its use is known while the length stays."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gateway.store.database import (
    DATABASE_NAME,
    PAGE_BYTES,
    WAL_FRAME_HEADER_BYTES,
    connect,
    grow_wal,
    migrate,
)
from gateway.store.store import WAL_BYTES, Store

BLOB = bytes(range(250))
WAL_FRAME_BYTES = WAL_FRAME_HEADER_BYTES + PAGE_BYTES


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path)
    store.open([], 0.0)
    yield store
    store.close(clean=True)


def wal_length(store: Store) -> int:
    return store.path.with_name(f"{DATABASE_NAME}-wal").stat().st_size


def commit(store: Store, first: int, count: int, blob: bytes = BLOB) -> None:
    for sequence in range(first, first + count):
        store.begin(sequence, blob)
        store.fsync_commit()


def test_no_commit_makes_the_wal_longer_before_it_is_due_to_be_copied(store: Store) -> None:
    length = wal_length(store)
    assert length >= WAL_BYTES
    commit(store, 1, 300)
    assert wal_length(store) == length


def test_only_what_is_in_use_counts_and_nothing_once_it_is_copied(store: Store) -> None:
    store.checkpoint_wal()
    commit(store, 1, 1)
    one = store.wal_bytes()
    assert WAL_FRAME_BYTES <= one < 10 * WAL_FRAME_BYTES
    commit(store, 2, 1, bytes(20 * PAGE_BYTES))
    assert store.wal_bytes() >= one + 20 * WAL_FRAME_BYTES
    frames, copied = store.checkpoint_wal()
    assert frames == copied
    assert store.wal_bytes() == 0
    commit(store, 3, 1)
    assert 0 < store.wal_bytes() < 10 * WAL_FRAME_BYTES


def test_while_somebody_reads_an_old_state_it_is_copied_once_for_each_length(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path, wal_length_bytes=20 * WAL_FRAME_BYTES)
    store.open([], 0.0)
    with closing(connect(store.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM journal").fetchone()
        copies = 0
        for sequence in range(1, 101):
            commit(store, sequence, 1)
            if store.is_wal_full():
                store.checkpoint_wal()
                copies += 1
        # 100 commits of a frame or two: not one copy for each commit behind the first 20.
        assert 3 <= copies <= 10
        reader.execute("ROLLBACK")
    store.checkpoint_wal()
    commit(store, 101, 1)
    assert not store.is_wal_full()
    assert store.wal_bytes() < 5 * WAL_FRAME_BYTES
    store.close(clean=True)


def test_what_made_the_wal_long_is_not_in_the_database(store: Store, tmp_path: Path) -> None:
    commit(store, 1, 3)
    store.close(clean=False)
    again = Store(tmp_path)
    again.open([], 0.0)
    pages = again._writer.execute("PRAGMA page_count").fetchone()[0]
    keys = [row[0] for row in again._writer.execute("SELECT key FROM meta")]
    again.close(clean=True)
    assert "room" not in keys
    assert pages * PAGE_BYTES < WAL_BYTES // 10


def test_a_disk_without_room_for_it_can_still_be_written_to(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_NAME
    with closing(connect(path)) as connection:
        migrate(connection)
        connection.execute("PRAGMA max_page_count=50")
        grow_wal(connection, path, WAL_BYTES)
        assert not connection.in_transaction
        connection.execute("INSERT INTO meta VALUES ('still', 'written')")
    with closing(connect(path)) as connection:
        assert connection.execute("SELECT key FROM meta").fetchall() == [("still",)]
