"""A database with wrong bytes in its header or in its definitions is opened, and its rows read."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.process.files.damaged_database import DAMAGED_BYTES_MAX, definitions_of, open_damaged
from gateway.process.files.salvage import PAGE_BYTES

SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE words (number INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT",
    "CREATE INDEX by_word ON words (word)",
)
WORDS = [(1, "a"), (2, "b")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.executemany("INSERT INTO words VALUES (?, ?)", WORDS)
    return path


def words_in(path: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(":memory:")) as sound:
        for statement in SCHEMA:
            sound.execute(statement)
        definitions = definitions_of(sound)
    with open_damaged(path, definitions) as damaged:
        return damaged.execute("SELECT number, word FROM words ORDER BY number").fetchall()


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def replace_once(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def test_a_wrong_byte_anywhere_in_a_definition_costs_no_row(path: Path) -> None:
    content = path.read_bytes()
    for statement in map(str.encode, SCHEMA):
        begin = content.index(statement)
        for offset in range(begin, begin + len(statement)):
            for bit in (0, 7):
                path.write_bytes(content)
                overwrite(path, offset, bytes([content[offset] ^ 1 << bit]))
                assert words_in(path) == WORDS, (offset, bit)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"tablewordswords", b"tablewordsworda"),
        (b"tablewordswords", b"tablewordawords"),
        (b"tablewordswords", b"tabldwordswords"),
        (b"CREATE TABLE words (number", b"CREATE TABLE wordz (numbex"),
        (b"tablemetameta", b"tablemedameta"),
    ],
)
def test_a_damaged_name_costs_no_row(path: Path, old: bytes, new: bytes) -> None:
    replace_once(path, old, new)
    before = path.read_bytes()
    assert words_in(path) == WORDS
    assert path.read_bytes() == before


@pytest.mark.parametrize("offset", [*range(24), 28, 31, *range(44, 48), *range(56, 60)])
def test_a_wrong_byte_in_the_header_costs_no_row(path: Path, offset: int) -> None:
    overwrite(path, offset, bytes([path.read_bytes()[offset] ^ 1]))
    assert words_in(path) == WORDS


def test_a_database_that_was_cut_off_gives_its_remaining_rows(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: -PAGE_BYTES // 2])
    assert words_in(path) == WORDS
    assert path.stat().st_size == len(content)


def test_a_definition_of_another_version_is_left_as_it_is(path: Path) -> None:
    """Rows would get wrong values if a table with other columns were read as this one."""
    old = "number INTEGER PRIMARY KEY, word"
    new = "id INTEGER PRIMARY KEY, text2345"
    assert sum(a != b for a, b in zip(old, new, strict=True)) > DAMAGED_BYTES_MAX
    replace_once(path, old.encode(), new.encode())
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        words_in(path)


@pytest.mark.parametrize("content", [b"", b"short", b"no database" * 1_000, bytes(3 * PAGE_BYTES)])
def test_a_file_that_is_no_database_any_more_has_no_rows(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(sqlite3.DatabaseError):
        words_in(path)
