"""Copies of a database in each of which one byte of a table's or an index's definition is wrong."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

BITS = (0, 7)
"""Bits to flip: one that leaves text, and one after which it is no longer UTF-8."""


def with_wrong_bytes(path: Path, *, step: int) -> Iterator[bytes]:
    """Yield the contents of a database with one wrong byte, at every `step`th byte of its
    definitions. Its WAL must be empty."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
        definitions = [sql.encode() for (sql,) in rows]
    content = path.read_bytes()
    offsets = [
        begin + at
        for definition in definitions
        for begin in [content.index(definition)]
        for at in range(len(definition))
    ]
    for offset in offsets[::step]:
        for bit in BITS:
            wrong = bytes([content[offset] ^ 1 << bit])
            yield content[:offset] + wrong + content[offset + 1 :]
