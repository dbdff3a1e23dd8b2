"""The format of a data directory, and the errors for other formats.

The row `format` of the table `meta` names the format. Until the first release, only the current
format is supported. Afterwards, every released format must be readable.

Data in another format is rejected, but not treated as damage: nothing is changed or moved. If the
tables have the current columns but the row is missing, or differs from the current format in one
bit, the database is treated as damaged.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import has_valid_crc

FORMAT = 7
"""The format that this version reads and writes."""

KEY = "format"
"""Key of the row in `meta` that contains the format."""

NEWEST_COLUMN = ("retained", "source")
"""Table and name of a column that no earlier format has."""

UNKNOWN = "unknown"
"""Result of `format_of` if the row in `meta` is missing or damaged, although the database is
current."""

_OLDER = (
    "a development version before 0.1.0 wrote it; move the data directory away and start with an "
    "empty one"
)
_NEWER = "start the newer version again"


class OtherFormat(OSError):
    """Error for data in an unsupported format. The message names the file, format and fix."""


def other_format(file: Path, found: str, understood: str, *, is_older: bool) -> OtherFormat:
    """Return the error for a file in the format `found`.

    `understood` names the supported format. `is_older` is True if an earlier version wrote the
    file.
    """
    return OtherFormat(
        f"{file} has format {found}, this version of Oncegate understands {understood}: "
        f"{_OLDER if is_older else _NEWER}; nothing was changed"
    )


def other_magic(file: Path, magic: bytes, understood: bytes) -> OtherFormat:
    """Return the error for a file that contains `magic` where `understood` is expected.

    The last byte of a magic is the digit of its format.
    """
    is_older = magic < understood
    return other_format(
        file, magic.decode("ascii", "replace"), understood.decode(), is_older=is_older
    )


def format_of(connection: sqlite3.Connection) -> str | None:
    """Return the format of a database, or None if the database is empty.

    If the database has tables but no row that names the format, or a row with one wrong bit, the
    result depends on the columns: `UNKNOWN` if they are those of the current format, otherwise the
    contents of the row or "none". Raises sqlite3.Error if the database cannot be read.
    """
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if not tables:
        return None
    found = None
    if "meta" in tables:
        row = connection.execute(
            "SELECT CAST(value AS BLOB) FROM meta WHERE key = ?", (KEY,)
        ).fetchone()
        found = None if row is None else bytes(row[0] or b"")
    if found is not None and not _has_one_wrong_bit(found):
        return found.decode("ascii", "replace")
    table, column = NEWEST_COLUMN
    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    if column in columns:
        return UNKNOWN
    return "none" if found is None else found.decode("ascii", "replace")


def _has_one_wrong_bit(found: bytes) -> bool:
    """Return True if `found` differs from the current format in one bit, as on a worn card."""
    expected = str(FORMAT).encode()
    if len(found) != len(expected):
        return False
    wrong = int.from_bytes(found, "big") ^ int.from_bytes(expected, "big")
    return wrong.bit_count() == 1


def refuse_other_database(path: Path) -> None:
    """Raise OtherFormat if a database has another format than `FORMAT`.

    No error is raised for a database that is unreadable or has lost the row that names its format,
    because it is treated as damaged later.
    """
    if not path.exists() or not path.stat().st_size:
        return
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            found = format_of(connection)
    except (sqlite3.Error, UnicodeDecodeError):
        return
    if found is not None and found not in {UNKNOWN, str(FORMAT)}:
        is_older = found == "none" or (found.isdecimal() and int(found) < FORMAT)
        raise other_format(path, found, str(FORMAT), is_older=is_older)


def refuse_other_blob(file: Path, blob: bytes) -> None:
    """Raise OtherFormat if a blob is complete and has another format.

    In every format, a blob starts with OGJ and a digit and ends with a CRC of all preceding bytes.
    """
    magic = blob[: len(layout.BLOB_MAGIC)]
    if magic == layout.BLOB_MAGIC or not magic.startswith(layout.BLOB_MAGIC_PREFIX):
        return
    if len(blob) > layout.CRC.size and has_valid_crc(blob):
        raise other_magic(file, magic, layout.BLOB_MAGIC)
