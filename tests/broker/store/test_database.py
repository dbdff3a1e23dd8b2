"""The database file: opening, locking, checks, setting aside and salvage."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store.database import (
    DAMAGED_FOLDER,
    DATABASE_NAME,
    SALVAGED_NAME,
    DataDirectoryInUse,
    StoreUnavailable,
    connect,
    connect_read_only,
    create_tables,
    damage_of,
    empty_wal,
    rewrite_wal,
    salvage,
    set_aside,
)
from gateway.broker.store.store import Store
from tests.broker.core.harness import Harness, payloads
from tests.broker.store.data_directories import make_queue, make_state
from tests.broker.store.journal_damage import overwrite


def test_of_a_database_that_was_cut_short_everything_before_the_cut_is_saved(
    tmp_path: Path,
) -> None:
    make_state(tmp_path, messages=1000)
    path = tmp_path / DATABASE_NAME
    whole = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(whole * 9 // 10)
    with closing(connect(tmp_path / "saved.db")) as target:
        create_tables(target)
        saved = salvage(path, target)
    assert saved["messages"] > 300  # nine tenths, unless an inner page was cut off
    assert path.stat().st_size == whole


def test_a_second_broker_is_refused_the_data_directory(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    with pytest.raises(DataDirectoryInUse, match="in use by another broker"):
        Store(tmp_path)
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


def test_a_salvage_that_was_cut_short_is_finished_at_the_next_start(tmp_path: Path) -> None:
    make_queue(tmp_path, checkpoint=True)
    # The damaged file was moved, but its WAL was not, and the replacement is not in place.
    (tmp_path / DATABASE_NAME).rename(tmp_path / SALVAGED_NAME)
    (tmp_path / (DATABASE_NAME + "-wal")).write_bytes(b"of the damaged file")
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert payloads(harness.connect("s").take()) == [b"1", b"2"]
    harness.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the path of a closed database with rows on many pages."""
    path = tmp_path / DATABASE_NAME
    with closing(connect(path)) as connection:
        create_tables(connection)
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [(f"key {n}", "x" * 2_000) for n in range(49)]
        )
    return path


def test_a_sound_database_has_no_damage(database: Path) -> None:
    assert damage_of(database, thorough=False) is None
    assert damage_of(database, thorough=True) is None


def test_a_page_that_was_overwritten_is_found_by_the_look_at_every_page(database: Path) -> None:
    overwrite(database, database.stat().st_size - 4_096, b"\xff" * 4_096)
    assert damage_of(database, thorough=False) is None
    assert damage_of(database, thorough=True) is not None


def test_a_file_that_is_no_database_is_found_by_every_look(database: Path) -> None:
    database.write_bytes(b"anything" * 1_000)
    for thorough in (False, True):
        assert "not a database" in (damage_of(database, thorough=thorough) or "")


def test_a_connection_to_read_cannot_write_and_sees_what_is_committed(database: Path) -> None:
    with closing(connect(database)) as writing, closing(connect_read_only(database)) as reading:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reading.execute("DELETE FROM meta")
        writing.execute("BEGIN IMMEDIATE")
        writing.execute("DELETE FROM meta")
        assert reading.execute("SELECT count(*) FROM meta").fetchone() == (50,)
        writing.execute("COMMIT")
        assert reading.execute("SELECT count(*) FROM meta").fetchone() == (0,)


def test_a_wal_that_is_written_once_more_has_the_same_bytes_and_is_emptied_by_a_start(
    database: Path,
) -> None:
    rewrite_wal(database)  # there is no WAL yet
    wal = database.with_name(DATABASE_NAME + "-wal")
    with closing(connect(database)) as reader, closing(connect(database)) as connection:
        connection.execute("UPDATE meta SET value = 'y'")
        before = wal.read_bytes()
        rewrite_wal(database)
        assert wal.read_bytes() == before != b""
        empty_wal(connection)
        assert wal.stat().st_size == 0
        values = reader.execute("SELECT DISTINCT value FROM meta").fetchall()
    assert values == [("y",)]


def test_a_wal_that_another_process_reads_is_left_as_it_is(database: Path) -> None:
    with closing(connect(database)) as connection, closing(connect_read_only(database)) as reader:
        connection.execute("PRAGMA busy_timeout=0")
        connection.execute("UPDATE meta SET value = 'y'")
        rows = reader.execute("SELECT value FROM meta")
        assert rows.fetchone() == ("y",)
        connection.execute("UPDATE meta SET value = 'z'")
        empty_wal(connection)
        assert rows.fetchall() == [("y",)] * 49
        assert connection.execute("SELECT DISTINCT value FROM meta").fetchall() == [("z",)]


def test_databases_that_are_set_aside_in_one_second_have_folders_of_their_own(
    tmp_path: Path,
) -> None:
    kept = []
    for number in range(3):
        path = tmp_path / DATABASE_NAME
        path.write_bytes(b"%d" % number)
        path.with_name(DATABASE_NAME + "-wal").write_bytes(b"wal %d" % number)
        kept.append(set_aside(path))
        assert not list(tmp_path.glob(DATABASE_NAME + "*"))
    assert [path.read_bytes() for path in kept] == [b"0", b"1", b"2"]
    wals = [path.with_name(DATABASE_NAME + "-wal").read_bytes() for path in kept]
    assert wals == [b"wal 0", b"wal 1", b"wal 2"]
    assert {path.parent.parent for path in kept} == {tmp_path / DAMAGED_FOLDER}
