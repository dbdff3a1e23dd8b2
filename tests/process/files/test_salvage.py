"""Rows saved from a damaged SQLite database, and errors that count as damage."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gateway.process.files import salvage
from gateway.process.files.salvage import (
    PAGE_BYTES,
    ReadableRows,
    copy_table,
    is_damage,
    lengthen_cut_off,
    lengthen_emptied,
)

ROWS = 2_000
SCHEMA = (
    "CREATE TABLE numbered (number INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE named (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE keyless (text TEXT);"
)
LEAF_OF_ROWS, LEAF_OF_KEYS = 0x0D, 0x0A
"""First byte of the pages that contain rows: in `numbered` and in `named`."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        connection.execute("BEGIN")
        for number in range(1, ROWS + 1):
            connection.execute("INSERT INTO numbered VALUES (?, ?)", (number, "x" * 100))
            connection.execute("INSERT INTO named VALUES (?, ?)", (f"{number:05}", "x" * 100))
        connection.execute("INSERT INTO keyless VALUES ('x')")
        connection.execute("COMMIT")
        # Each table then has its own pages, in the order of its keys.
        connection.execute("VACUUM")
    return path


@pytest.fixture
def target(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "sound.db", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        connection.execute("PRAGMA synchronous=OFF")  # Each row is a transaction here.
        yield connection


@pytest.fixture
def source(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def break_pages(path: Path, kind: int, shares: tuple[float, ...]) -> None:
    """Overwrite pages of one kind. `shares` are their positions among these pages, from 0 to 1."""
    content = bytearray(path.read_bytes())
    pages = [at for at in range(PAGE_BYTES, len(content), PAGE_BYTES) if content[at] == kind]
    for share in shares:
        at = pages[int(share * len(pages))]
        content[at : at + PAGE_BYTES] = b"\xa5" * PAGE_BYTES
    path.write_bytes(content)


def test_a_sound_table_is_copied_whole(
    source: sqlite3.Connection, target: sqlite3.Connection
) -> None:
    for table in ("numbered", "named"):
        assert copy_table(source, target, table) == ROWS
    for query in ("SELECT * FROM numbered", "SELECT * FROM named"):
        assert target.execute(query).fetchall() == source.execute(query).fetchall()


def test_of_a_table_of_numbers_each_page_that_can_be_read_is_saved(
    path: Path, source: sqlite3.Connection, target: sqlite3.Connection
) -> None:
    break_pages(path, LEAF_OF_ROWS, (0.2, 0.5, 0.8))
    saved = copy_table(source, target, "numbered")
    assert ROWS - 150 < saved < ROWS
    numbers = {number for (number,) in target.execute("SELECT number FROM numbered")}
    assert numbers > set(range(ROWS * 3 // 10, ROWS * 4 // 10)), "between two broken pages"
    assert {1, ROWS} < numbers


def test_of_a_table_of_names_both_sides_of_the_damage_are_saved(
    path: Path, source: sqlite3.Connection, target: sqlite3.Connection
) -> None:
    break_pages(path, LEAF_OF_KEYS, (0.5,))
    saved = copy_table(source, target, "named")
    assert ROWS - 150 < saved < ROWS
    names = {name for (name,) in target.execute("SELECT name FROM named")}
    assert {"00001", f"{ROWS:05}"} < names


def test_a_table_that_nothing_can_be_read_of_costs_a_bounded_number_of_attempts(
    path: Path,
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts = 0
    copy = salvage._copy

    def counted(*arguments: object) -> object:
        nonlocal attempts
        attempts += 1
        return copy(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(salvage, "_copy", counted)
    break_pages(path, LEAF_OF_ROWS, tuple(number / 100 for number in range(100)))
    assert copy_table(source, target, "numbered") == 0
    assert 10 < attempts < 1_000


def test_rows_that_the_target_has_already_stay_and_are_not_counted(
    source: sqlite3.Connection, target: sqlite3.Connection
) -> None:
    target.execute("INSERT INTO numbered VALUES (7, 'kept')")
    assert copy_table(source, target, "numbered") == ROWS - 1
    found = target.execute("SELECT text FROM numbered WHERE number = 7").fetchall()
    assert found == [("kept",)]


@pytest.mark.parametrize("table", ["keyless", "none"])
def test_a_table_without_a_key_and_one_that_is_not_there_give_nothing(
    source: sqlite3.Connection, target: sqlite3.Connection, table: str
) -> None:
    assert copy_table(source, target, table) == 0


def test_a_column_with_another_name_is_left_out_and_a_row_of_another_type_too(
    path: Path, target: sqlite3.Connection
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as source:
        source.execute("CREATE TABLE strict (number INTEGER PRIMARY KEY, size, texu)")
        source.execute("INSERT INTO strict VALUES (1, 'x', 'a'), (2, 7, 'b')")
        target.execute(
            "CREATE TABLE strict (number INTEGER PRIMARY KEY, size INTEGER, text TEXT) STRICT"
        )
        assert copy_table(source, target, "strict") == 1
    assert target.execute("SELECT * FROM strict").fetchall() == [(2, 7, None)]


def test_an_error_of_the_target_is_raised_and_does_not_count_as_damage_of_the_source(
    source: sqlite3.Connection, target: sqlite3.Connection
) -> None:
    (pages,) = target.execute("PRAGMA page_count").fetchone()
    target.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        copy_table(source, target, "numbered")


def test_rows_end_at_the_first_that_cannot_be_read_and_say_why(
    path: Path, source: sqlite3.Connection
) -> None:
    rows = ReadableRows(source, "SELECT number FROM numbered WHERE number > ?", (10,))
    assert [number for (number,) in rows] == list(range(11, ROWS + 1))
    assert rows.error is None
    source.close()
    break_pages(path, LEAF_OF_ROWS, (0.5,))
    with closing(sqlite3.connect(path)) as damaged:
        rows = ReadableRows(damaged, "SELECT number FROM numbered")
        found = [number for (number,) in rows]
        assert found == list(range(1, len(found) + 1))
        assert ROWS // 3 < len(found) < ROWS * 2 // 3
        assert "malformed" in str(rows.error)


def test_a_query_that_cannot_even_begin_gives_no_row_and_its_error(
    source: sqlite3.Connection,
) -> None:
    rows = ReadableRows(source, "SELECT * FROM none")
    assert list(rows) == []
    assert "no such table" in str(rows.error)


def test_a_database_that_was_cut_off_is_lengthened_and_gives_the_remaining_rows(
    path: Path, target: sqlite3.Connection
) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 3 // 10])
    lengthen_cut_off(path)
    assert path.stat().st_size == len(content)
    assert path.read_bytes().startswith(content[: len(content) * 3 // 10])
    with closing(sqlite3.connect(path)) as damaged:
        assert ROWS // 2 < copy_table(damaged, target, "numbered") < ROWS * 3 // 4


@pytest.mark.parametrize(
    ("offset", "inserted"),
    [(0, b"no database"), (28, b"\xff\xff\xff\xff"), (28, bytes(4))],
    ids=["another file", "claims too much", "claims nothing"],
)
def test_a_file_whose_header_cannot_be_right_keeps_its_length(
    path: Path, offset: int, inserted: bytes
) -> None:
    content = bytearray(path.read_bytes()[:PAGE_BYTES])
    content[offset : offset + len(inserted)] = inserted
    path.write_bytes(content)
    lengthen_cut_off(path)
    assert path.read_bytes() == content


def test_a_file_shorter_than_a_header_keeps_its_length(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])
    lengthen_cut_off(path)
    assert path.stat().st_size == 20


def test_an_emptied_database_becomes_one_page_and_no_other_file_is_touched(path: Path) -> None:
    content = path.read_bytes()
    assert not lengthen_emptied(path)
    assert path.read_bytes() == content
    path.write_bytes(b"")
    assert lengthen_emptied(path)
    assert path.read_bytes() == bytes(PAGE_BYTES)


def error_of(code: int) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("of SQLite")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    "code",
    [
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_IOERR_READ,
        sqlite3.SQLITE_IOERR_SHORT_READ,
        sqlite3.SQLITE_CORRUPT_INDEX,
    ],
)
def test_contents_that_are_wrong_or_that_the_medium_does_not_give_are_damage(code: int) -> None:
    assert is_damage(error_of(code))


@pytest.mark.parametrize(
    "code",
    [
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_READONLY_DBMOVED,
    ],
)
def test_faults_around_the_file_are_no_damage(code: int) -> None:
    assert not is_damage(error_of(code))


def test_an_error_without_a_code_is_damage() -> None:
    assert is_damage(sqlite3.DatabaseError("integrity check: row 3 missing"))
