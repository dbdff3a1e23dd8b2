"""Functions that copy the readable rows of a damaged SQLite database into a new one.

The module also decides whether an error means damage, because a database must not be replaced after
a temporary error, such as a full disk. It does not check whether the copied rows are valid. The
code that uses the table checks this.
"""

import contextlib
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PAGE_BYTES = 4_096
"""SQLite's default page size, in bytes."""

DATABASE_BYTES_MAX = 1 << 40
"""Largest plausible size of a database, in bytes. A header with a larger size is damaged."""

KEY_MAX = 1 << 62
"""A key that is larger than any row number."""

DAMAGED_KEYS_MAX = 100_000
"""Largest number of attempts to continue after unreadable rows. They take a few seconds."""

READING_FAILED = (
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
)
"""Codes of SQLite errors for a page that the disk cannot read. These errors are permanent."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Errors of a query on a damaged database. Python raises UnicodeDecodeError if the message of
SQLite's error quotes a damaged name that is not valid UTF-8."""

_CIRCUMSTANCES = (
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
)
"""Codes of SQLite errors that are not caused by the file's contents. A new file would not help."""

_MAGIC = b"SQLite format 3\0"
_HEADER = struct.Struct(">16xH10xI")
"""Fields of a database header: the page size and the number of pages
(https://sqlite.org/fileformat2.html, section 1.3)."""


def is_damage(error: BaseException) -> bool:
    """Return True if an SQLite error means that the file is damaged.

    Return False for a temporary failure, such as a full disk.
    """
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is None or code in READING_FAILED or code & 0xFF not in _CIRCUMSTANCES


def lengthen_emptied(path: Path) -> bool:
    """Extend an empty database file to one page of zeros. Return True if the file was empty.

    A file system can lose a file's contents and leave an empty file. SQLite would treat the empty
    file as a new database and delete the WAL next to it, although the WAL might contain all data.
    """
    if path.stat().st_size:
        return False
    with path.open("r+b") as file:
        file.truncate(PAGE_BYTES)
    return True


def lengthen_cut_off(path: Path) -> None:
    """Extend a truncated database file with zeros to the size in its header.

    SQLite rejects a file that is shorter than this size. After the extension, SQLite can read all
    pages that were not cut off.
    """
    with path.open("r+b") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(_MAGIC):
            return
        page_bytes, pages = _HEADER.unpack(header)
        length = pages * (65_536 if page_bytes == 1 else page_bytes)
        if path.stat().st_size < length <= DATABASE_BYTES_MAX:
            file.truncate(length)


class ReadableRows:
    """An iterable over the rows of a query, which ends before the first unreadable row."""

    def __init__(
        self, source: sqlite3.Connection, query: str, parameters: Sequence[object] = ()
    ) -> None:
        self._source = source
        self._query = query
        self._parameters = parameters
        self.error: Exception | None = None
        """The error that ended the iteration early, or None if all rows so far were readable."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._source.execute(self._query, self._parameters)
        except UNREADABLE as error:
            self.error = error


def copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> int:
    """Copy all readable rows of a table, and return the number of copied rows.

    Args:
        source: the damaged database.
        target: a database with a table of the same name and columns. Rows whose key exists there
            are skipped.
        table: name of the table. A table without a primary key is not copied.
    """
    before = target.total_changes
    try:
        found = {column[1] for column in source.execute(f"PRAGMA table_info({table})")}
    except UNREADABLE:
        return 0
    # The source's definition may be damaged. A column that it does not name is left out.
    columns = [
        column for column in target.execute(f"PRAGMA table_info({table})") if column[1] in found
    ]
    keys = [column[1] for column in columns if column[5]]
    if not keys:
        return 0
    marks = ", ".join("?" for _ in columns)
    names = ", ".join(column[1] for column in columns)
    insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"
    upwards, downwards = (
        f"SELECT {names} FROM {table} ORDER BY " + ", ".join(f"{key} {order}" for key in keys)
        for order in ("ASC", "DESC")
    )
    whole, _ = _copy(ReadableRows(source, upwards), target, insert)
    if not whole:
        if columns[0][1] == keys[0] and columns[0][2] == "INTEGER":
            after_key = f"SELECT {names} FROM {table} WHERE {keys[0]} > ? ORDER BY {keys[0]}"
            _copy_around_damage(source, after_key, target, insert)
        # The rows are also copied backwards from the end, because some damage cannot be skipped.
        _copy(ReadableRows(source, downwards), target, insert)
    return target.total_changes - before


def _copy_around_damage(
    source: sqlite3.Connection, query: str, target: sqlite3.Connection, insert: str
) -> None:
    """Copy rows in the order of their integer key, skipping damaged pages.

    A damaged leaf page hides a few neighbouring rows. A damaged page higher in the B-tree hides
    many more. Therefore each failed attempt increases the number of skipped keys, until a row is
    readable again.
    """
    last = -1
    step = 1
    for _ in range(DAMAGED_KEYS_MAX):
        whole, row = _copy(ReadableRows(source, query, (last,)), target, insert)
        if whole or last >= KEY_MAX:
            return
        # Damaged rows may be out of order, or have a key that is not an integer.
        if row is not None and isinstance(row[0], int) and row[0] > last:
            last = row[0]
            step = 1
        else:
            step += (step + 7) // 8
        last += step


def _copy(
    rows: ReadableRows, target: sqlite3.Connection, insert: str
) -> tuple[bool, tuple[Any, ...] | None]:
    """Insert rows into `target` until a row cannot be read. Skip rows with wrong types.

    The first result is True if all rows were readable. The second result is the last row that was
    read, or None if no row was read.
    """
    last = None
    for row in rows:
        with contextlib.suppress(sqlite3.IntegrityError):
            target.execute(insert, row)
        last = row
    return rows.error is None, last
