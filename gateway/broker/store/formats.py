"""The supported formats of a data directory, and the errors for other formats.

=======  ==========================================================================================
format   change from the previous format
=======  ==========================================================================================
1        MQTT 3.1.1 only; the journal is a table of the database
2        records and tables of MQTT 5.0
3        sessions belong to users
4        the journal is stored in separate files (OGF1) with blobs OGJ1
5        blobs OGJ2, which have gateway time; the database names its format
6        retained messages belong to users
7        retained messages name their publisher
=======  ==========================================================================================

Data of a later version is rejected, but not treated as damage: nothing is changed or moved.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import has_valid_crc

FORMAT = 7
"""The format that this version writes."""

JOURNAL_IS_FILES = 4
"""First format in which the journal is stored in files. Earlier formats are migrated at startup."""

KEY = "format"
"""Key of the row in `meta` that contains the format, since format 5."""

BLOB_MAGICS = (layout.BLOB_MAGIC_1, layout.BLOB_MAGIC)


class OtherFormat(OSError):
    """Error for data in an unsupported format. The message names the file, format and fix."""


def newer(file: Path, found: str, understood: str) -> OtherFormat:
    """Return the error for a file in the newer format `found`.

    `understood` names the supported formats.
    """
    return OtherFormat(
        f"{file} has format {found}, this version of Oncegate understands {understood}: start the "
        "newer version again; nothing was changed"
    )


def format_of(connection: sqlite3.Connection) -> str | None:
    """Return the format of a database, or None if the database is empty.

    Raises sqlite3.Error if the database cannot be read.
    """
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if "meta" not in tables:
        return None
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).fetchone()
    if row is not None:
        return str(row[0])
    columns = {row[1] for row in connection.execute("PRAGMA table_info(sessions)")}
    if "expiry" not in columns:
        return "1"
    if "username" not in columns:
        return "2"
    return "3" if "journal" in tables else "4"


def refuse_newer_database(path: Path) -> None:
    """Raise OtherFormat if a later version wrote the database.

    No error is raised for an unreadable database, because it is treated as damaged later.
    """
    if not path.exists() or not path.stat().st_size:
        return
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            found = format_of(connection)
    except sqlite3.Error:
        return
    if found is not None and found not in {str(each) for each in range(1, FORMAT + 1)}:
        raise newer(path, found, f"up to {FORMAT}")


def refuse_earlier_database(path: Path, connection: sqlite3.Connection) -> None:
    """Raise OtherFormat if a database has a format so old that only the broker can migrate it."""
    found = format_of(connection)
    if found is not None and found in {str(each) for each in range(1, JOURNAL_IS_FILES)}:
        raise OtherFormat(
            f"{path} has format {found}, of an earlier version: start the broker once, which "
            f"brings it to format {FORMAT}"
        )


def refuse_newer_blob(file: Path, blob: bytes) -> None:
    """Raise OtherFormat if a blob is complete and was written by a later version.

    In every version, a blob starts with OGJ and a digit and ends with a CRC of all preceding bytes.
    """
    magic = blob[: len(layout.BLOB_MAGIC)]
    if magic in BLOB_MAGICS or not magic.startswith(layout.BLOB_MAGIC_PREFIX):
        return
    if len(blob) > layout.CRC.size and has_valid_crc(blob):
        understood = " and ".join(each.decode() for each in BLOB_MAGICS)
        raise newer(file, magic.decode("ascii", "replace"), understood)
