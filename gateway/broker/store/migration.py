"""Migrates a database from an earlier format, and reports any losses.

Up to format 3, the journal was a table of the database. Its rows are first written to files. Then
one synced transaction adds columns to the other tables and drops the journal's table. After a power
cut, the next start repeats or completes the migration.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import has_valid_crc, packed
from gateway.broker.core.records.kinds import RecordKind
from gateway.broker.core.sessions.session import EXPIRY_NEVER
from gateway.broker.store import database, owners
from gateway.broker.store.formats import FORMAT, KEY, format_of
from gateway.broker.store.journal import FILE_BYTES
from gateway.broker.store.journal_files import (
    FOLDER_NAME,
    NUMBER_DIGITS,
    SALT_BYTES,
    frame_of,
    header_of,
    journal_files,
)
from gateway.process.files.durable import fsync_folder
from gateway.process.files.private import open_private

MOVING_NAME = "journal.moving"
"""Name of the folder in which the journal's files are built from the table."""

LEFT_TABLE = "journal_not_applied"
"""New name of the journal table of an earlier format, if a later version started without applying
its rows."""


def migrate(connection: sqlite3.Connection, data_dir: Path | None = None) -> list[str]:
    """Migrate a database to the current format. Return sentences that report any losses.

    Args:
        connection: connection for writing, in autocommit mode.
        data_dir: directory for the journal's files, or None if there is no journal yet.

    Raises:
        OSError, sqlite3.Error: the migration failed. Nothing is lost, and the next start repeats
            the migration.
    """
    found = format_of(connection)
    reports: list[str] = []
    if found == str(FORMAT):
        return reports  # so that a start on a full disk writes nothing
    if found is not None:
        moved = "keep"
        if data_dir is not None and _has_journal(connection):
            moved = _move_journal(connection, data_dir, is_first=found == "1")
        # The following changes must be durable before anything depends on them.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        if moved == "drop":
            connection.execute("DROP TABLE journal")
        elif moved == "leave":
            connection.execute(f"ALTER TABLE journal RENAME TO {LEFT_TABLE}")
            reports.append(
                "batches of an earlier format were not applied when a later version started: they "
                f"are kept in the table {LEFT_TABLE}"
            )
        if found == "1":
            _add_mqtt5_columns(connection)
        if found in ("1", "2"):
            connection.execute("INSERT INTO meta VALUES (?, ?)", (owners.KEY, owners.ALL))
        connection.execute("COMMIT")
    database.migrate(connection)
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, str(FORMAT)))
    connection.execute("PRAGMA synchronous=NORMAL")
    return reports


def _has_journal(connection: sqlite3.Connection) -> bool:
    query = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'journal'"
    return bool(connection.execute(query).fetchone()[0])


def _move_journal(connection: sqlite3.Connection, data_dir: Path, *, is_first: bool) -> str:
    """Write the rows of the journal's table to files, unless journal files exist already.

    Return "drop" if the caller may drop the table. Return "leave" if the existing files do not
    contain the table's events. The caller must then rename the table instead of dropping it.
    """
    blobs = _blobs(connection, is_first=is_first)
    first = next(blobs, None)
    if first is None:
        return "drop"
    folder, moving = data_dir / FOLDER_NAME, data_dir / MOVING_NAME
    files = journal_files(folder)
    if files:
        # Created here before a power cut, or by a version that did not know the table.
        found = files[0].blobs(is_newest=False)
        return "drop" if found and found[0] == first[1] else "leave"
    import shutil  # noqa: PLC0415 - rare, and large

    shutil.rmtree(moving, ignore_errors=True)
    moving.mkdir()
    number = 0
    for number, (sequence, frames) in enumerate(_files(first, blobs), 1):
        _write_file(moving / f"{number:0{NUMBER_DIGITS}d}.ogj", sequence, frames)
    fsync_folder(moving)
    if folder.exists():
        shutil.rmtree(folder)  # it holds no batch
    moving.rename(folder)
    fsync_folder(data_dir)
    return "drop"


def _blobs(connection: sqlite3.Connection, *, is_first: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the first sequence number and the blob of each row in the journal's table.

    If the argument `is_first` is True, the table has the first format. Its blobs are then converted
    to format 2, except damaged ones.
    """
    for sequence, blob in connection.execute(
        "SELECT sequence, blob FROM journal ORDER BY sequence"
    ):
        if isinstance(blob, bytes) and len(blob) >= layout.BLOB_HEADER_1.size + layout.CRC.size:
            yield sequence, _upgraded_blob(blob) if is_first else blob


def _files(
    first: tuple[int, bytes], blobs: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[int, list[bytes]]]:
    """Divide blobs among new journal files.

    `first` is the first blob, and `blobs` are the other blobs, each with its first sequence number.
    Yield the first sequence number and the blobs of each file.
    """
    sequence, frames = first[0], [first[1]]
    size_bytes = len(first[1])
    for next_sequence, blob in blobs:
        if size_bytes + len(blob) > FILE_BYTES:
            yield sequence, frames
            sequence, frames, size_bytes = next_sequence, [], 0
        frames.append(blob)
        size_bytes += len(blob)
    yield sequence, frames


def _write_file(path: Path, first_sequence: int, blobs: list[bytes]) -> None:
    salt = secrets.token_bytes(SALT_BYTES)
    data = header_of(salt, first_sequence) + b"".join(frame_of(salt, blob) for blob in blobs)
    with open(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _add_mqtt5_columns(connection: sqlite3.Connection) -> None:
    """Add the columns that format 1 lacks, and fill them with values for MQTT 3.1.1.

    Existing sessions and wills never expire.
    """
    connection.execute("ALTER TABLE sessions ADD COLUMN expiry INTEGER NOT NULL DEFAULT 0")
    connection.execute("UPDATE sessions SET expiry = ?", (EXPIRY_NEVER,))
    for column in ("delay INTEGER NOT NULL DEFAULT 0", "expiry INTEGER NOT NULL DEFAULT -1"):
        connection.execute(f"ALTER TABLE wills ADD COLUMN {column}")
    connection.execute("ALTER TABLE wills ADD COLUMN properties BLOB NOT NULL DEFAULT x''")


# -- blobs of format 1: two records were shorter

_CONNECT_1 = Struct("<BIBBHB")
"""flags u8 | protocol u8 | keep-alive u16 | address bytes u8, then the address."""

_WILL_1 = Struct("<BIBHI")
"""flags u8 | bytes of topic u16, payload u32 | topic | payload."""

_LAYOUTS = layout.LAYOUTS | {
    RecordKind.SESSION_OPENED.value: layout.RecordLayout(_CONNECT_1, (5,)),
    RecordKind.SESSION_RESUMED.value: layout.RecordLayout(_CONNECT_1, (5,)),
    RecordKind.WILL_SET.value: layout.RecordLayout(_WILL_1, (3, 4)),
}


def _upgraded_blob(blob: bytes) -> bytes:
    """Convert a blob of format 1 to the records of format 2.

    A damaged blob is returned unchanged. Its damage is detected and reported when it is read later.
    """
    if not has_valid_crc(blob):
        return blob
    head = list(layout.BLOB_HEADER_1.unpack_from(blob))
    names_end = layout.BLOB_HEADER_1.size + head[8]
    records = bytearray()
    at, end = names_end, len(blob) - layout.CRC.size
    while at < end:
        record = _LAYOUTS[blob[at]]
        former = record.fixed
        fields = former.unpack_from(blob, at)
        texts = at + former.size
        at = texts + sum(fields[index] for index in record.lengths)
        if former is _CONNECT_1:
            expiry = 0 if fields[2] & 1 else EXPIRY_NEVER
            records += layout.CONNECT_RECORD.pack(*fields[:5], expiry, fields[5])
        elif former is _WILL_1:
            records += layout.WILL_RECORD.pack(*fields[:3], 0, -1, fields[3], fields[4], 0)
        else:
            records += blob[texts - former.size : texts]
        records += blob[texts:at]
    head[9] = len(records)
    names = blob[layout.BLOB_HEADER_1.size : names_end]
    return packed(layout.BLOB_HEADER_1.pack(*head), names, bytes(records))
