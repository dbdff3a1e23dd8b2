"""Opens a damaged SQLite database so that as many of its rows as possible can be read.

One wrong byte in the header or in the definition of a table makes SQLite refuse the whole database,
although all rows are readable. The fixed bytes of the header are therefore written again. The
definitions are compared with those of an undamaged database with the same tables, and corrected in
a transaction that is rolled back.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from gateway.process.files.salvage import PAGE_BYTES, UNREADABLE, lengthen_cut_off

DAMAGED_BYTES_MAX: Final = 16
"""Maximum number of wrong bytes in a definition or a header that is corrected.

A definition with more wrong bytes may belong to another version of the table."""

_HEADER_BYTES: Final = 100
_PAGES_OFFSET: Final = 28
_FIXED: Final = {
    0: b"SQLite format 3\0",
    16: PAGE_BYTES.to_bytes(2, "big"),
    18: bytes([2, 2, 0, 64, 32, 32]),  # WAL mode twice, reserved bytes per page, three fractions
    44: (4).to_bytes(4, "big"),  # schema format
    56: (1).to_bytes(4, "big"),  # text encoding: UTF-8
}
"""Bytes that are the same in the headers of all our databases, by their offset
(https://sqlite.org/fileformat2.html, section 1.3)."""


class Definition(NamedTuple):
    """The definition of a table or an index, with the columns of `sqlite_schema`."""

    type: bytes
    name: bytes
    table: bytes
    sql: bytes


def definitions_of(connection: sqlite3.Connection) -> list[Definition]:
    """Return the definitions of all tables and indexes of a database.

    Raises sqlite3.DatabaseError if they cannot be read.
    """
    return [definition for _, definition in _numbered_definitions(connection)]


@contextmanager
def open_damaged(path: Path, definitions: Sequence[Definition]) -> Iterator[sqlite3.Connection]:
    """Open a damaged database. Only its header and its length are corrected in the file.

    `definitions` are those of an undamaged database with the same tables.
    """
    if _has_header(path):
        _overwrite(path, _FIXED)
        lengthen_cut_off(path)
        pages = path.stat().st_size // PAGE_BYTES
        _overwrite(path, {_PAGES_OFFSET: pages.to_bytes(4, "big")})
    with closing(sqlite3.connect(path, isolation_level=None)) as damaged:
        with suppress(*UNREADABLE):
            _correct_definitions(damaged, definitions)
        yield damaged
        if damaged.in_transaction:
            damaged.execute("ROLLBACK")


def _has_header(path: Path) -> bool:
    """Return True if a file begins with the header of a database, possibly with wrong bytes."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    return len(header) == _HEADER_BYTES and (
        sum(
            found != expected
            for offset, fixed in _FIXED.items()
            for found, expected in zip(header[offset:], fixed, strict=False)
        )
        <= DAMAGED_BYTES_MAX
    )


def _overwrite(path: Path, parts: Mapping[int, bytes]) -> None:
    with path.open("r+b") as file:
        for offset, part in parts.items():
            file.seek(offset)
            file.write(part)


def _correct_definitions(damaged: sqlite3.Connection, definitions: Sequence[Definition]) -> None:
    """Correct the definitions of a database in a transaction that remains open.

    Raises sqlite3.DatabaseError if the definitions cannot be read or written.
    """
    # SQLite then ignores definitions that it cannot parse, instead of refusing the database.
    damaged.execute("PRAGMA writable_schema=ON")
    damaged.execute("PRAGMA cache_spill=OFF")
    found = _numbered_definitions(damaged)
    missing = {*definitions} - {definition for _, definition in found}
    damaged.execute("BEGIN IMMEDIATE")
    for number, definition in found:
        if definition not in definitions and missing:
            wrong_bytes, correct = min((_differing(definition, each), each) for each in missing)
            if wrong_bytes <= DAMAGED_BYTES_MAX:
                missing.remove(correct)
                _write_definition(damaged, number, correct)
    damaged.execute("PRAGMA writable_schema=RESET")  # reads the definitions again
    damaged.execute("PRAGMA writable_schema=ON")


def _numbered_definitions(connection: sqlite3.Connection) -> list[tuple[int, Definition]]:
    # As bytes, because damaged text may not be valid UTF-8.
    rows = connection.execute(
        "SELECT rowid, CAST(COALESCE(type, '') AS BLOB), CAST(COALESCE(name, '') AS BLOB), "
        "CAST(COALESCE(tbl_name, '') AS BLOB), CAST(COALESCE(sql, '') AS BLOB) FROM sqlite_schema"
    )
    return [(number, Definition(*columns)) for number, *columns in rows]


def _differing(one: Definition, other: Definition) -> int:
    """Return the number of differing bytes. Texts of different lengths differ in all bytes."""
    return sum(
        sum(a != b for a, b in zip(left, right, strict=True))
        if len(left) == len(right)
        else max(len(left), len(right))
        for left, right in zip(one, other, strict=True)
    )


def _write_definition(damaged: sqlite3.Connection, number: int, correct: Definition) -> None:
    damaged.execute(
        "UPDATE sqlite_schema SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE rowid = ?",
        (*(each.decode() or None for each in correct), number),
    )
