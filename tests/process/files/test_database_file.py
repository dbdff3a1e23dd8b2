"""A database that is replaced as a whole. See tests/bridge/outbox for damage and power cuts."""

import sqlite3
from pathlib import Path

import pytest

from gateway.process.files.database_file import finish_replacement, replace_database, rewrite_wal


def make_with(value: int, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (v)")
    connection.execute("INSERT INTO t VALUES (?)", (value,))
    connection.commit()
    connection.close()


def value_in(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        (value,) = connection.execute("SELECT v FROM t").fetchone()
        return int(value)
    finally:
        connection.close()


def test_the_new_file_takes_the_place_and_the_old_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    assert replace_database(path, lambda new: make_with(1, new)) is None
    aside = replace_database(path, lambda new: make_with(2, new))
    assert aside is not None
    assert (value_in(path), value_in(aside)) == (2, 1)


def test_a_replacement_that_was_cut_before_the_last_step_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_with(2, tmp_path / "x.db.salvaged")
    assert finish_replacement(path) is None
    assert value_in(path) == 2
    assert finish_replacement(path) is None, "there is nothing to finish"


def test_a_maker_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_with(1, path)

    def fail(new: Path) -> None:
        make_with(2, new)
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        replace_database(path, fail)
    assert value_in(path) == 1


def test_a_wal_that_is_written_again_reads_as_before(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_with(1, path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("UPDATE t SET v = 5")
    connection.commit()
    wal = path.with_name("x.db-wal")
    before = wal.read_bytes()
    rewrite_wal(path)
    assert wal.read_bytes() == before
    connection.close()
    assert value_in(path) == 5
