"""Opens, locks and checks the database file, and salvages its rows after damage."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from gateway.broker.store import formats, medium
from gateway.broker.store.no_room import rows_lack_room
from gateway.broker.store.tables import STATEMENTS, TABLES
from gateway.process.files.damaged_database import definitions_of, open_damaged
from gateway.process.files.disk_errors import is_unreadable
from gateway.process.files.durable import fsync_folder, move_durably, pwrite_all
from gateway.process.files.lock import LockTaken, ProcessLock
from gateway.process.files.salvage import READING_FAILED, UNREADABLE, copy_table, is_damage

DATABASE_NAME = "broker.db"
LOCK_NAME = "broker.lock"
RUNNING_NAME = "broker.running"
DAMAGED_FOLDER = "damaged"
SALVAGED_NAME = "broker.db.salvaged"
"""File with the rows saved from a damaged database, until it replaces the damaged file."""

CACHE_KIBIBYTES = 8_192
"""Size of SQLite's page cache in KiB: enough for the tables of a small gateway and for the changed
pages of a burst."""

BUSY_MILLISECONDS = 5_000
"""Maximum wait of a reader while another process recovers the WAL, in milliseconds."""

WAL_PART_BYTES = 1024 * 1024
"""Bytes of the WAL held in memory at a time. After a burst, the WAL has about 10 MiB."""


class DataDirectoryInUse(RuntimeError):
    """Error raised when another broker uses the data directory."""


class StoreUnavailable(OSError):
    """Error raised when the database is not damaged but cannot be used now."""


class UnreadableDatabase(RuntimeError):
    """Error raised when a page of the database cannot be read from the disk."""


def refuse_if_unavailable(path: Path, error: BaseException) -> None:
    """Raise StoreUnavailable if an error was not caused by damage to the database at `path`.

    For example, the disk is full or read-only, or another program has locked the database. In such
    a case, the database must not be moved aside, because its contents would be lost.
    """
    if is_damage(error):
        return
    raise StoreUnavailable(
        f"cannot use {path}: {error}; it was left as it is. Look at the disk (full? read-only? "
        "opened by another program?), then start again"
    ) from error


def lock(data_dir: Path) -> ProcessLock:
    """Lock the data directory for this process until the returned lock is closed.

    Raises:
        DataDirectoryInUse: another broker holds the lock.
        StoreUnavailable: the directory is not writable, or the lock file is a symbolic link.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        taken = ProcessLock(data_dir / LOCK_NAME)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot write into the data directory: {error.filename or data_dir}: "
            f"{error.strerror}; look at the disk (read-only? full? whose is it?), or choose "
            "another with --data-dir"
        ) from error
    try:
        taken.take()
    except LockTaken as refusal:
        raise DataDirectoryInUse(
            f"data directory {data_dir} is in use by another broker (process "
            f"{refusal.holder or 'unknown'}): stop it, or give this one its own with --data-dir"
        ) from None
    taken.note_holder()
    return taken


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection for writing, in WAL mode, with explicit transactions and explicit fsyncs.

    A COMMIT becomes durable only when the WAL is synced. No client waits for this sync, because the
    journal contains all changes that have not been synced yet.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    # SQLite's own checkpoint would run inside a COMMIT that a client waits for.
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute(f"PRAGMA cache_size=-{CACHE_KIBIBYTES}")
    connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    # Only a COMMIT then writes to disk, so only a COMMIT can fail because the disk is full.
    connection.execute("PRAGMA cache_spill=OFF")
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a read-only connection, which sees committed data only."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    return connection


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of an empty database, and the row that names the format.

    Everything is created in one transaction, because tables without this row are refused or count
    as damaged. If the database has tables already, nothing is written.
    """
    if formats.format_of(connection) is not None:
        return  # so that a start on a full disk writes nothing
    from gateway.broker.store import schema  # noqa: PLC0415 - see there

    connection.execute("BEGIN IMMEDIATE")
    schema.migrate(connection)
    connection.execute("INSERT INTO meta VALUES (?, ?)", (formats.KEY, str(formats.FORMAT)))
    connection.execute("COMMIT")


def rewrite_wal(path: Path) -> None:
    """Write the WAL's contents from the page cache to the disk again. Raises OSError on failure.

    After a failed fsync, Linux marks the pages as clean. Reads then return the new contents,
    although they never reach the disk. At startup, the rows in the WAL would seem durable, and the
    part of the journal with the same changes would be deleted. A power cut would then lose these
    changes. Writing the same bytes again marks the pages as changed. A power cut during the write
    does no harm, since old and new bytes are equal.
    """
    wal = path.with_name(path.name + "-wal")
    try:
        descriptor = os.open(wal, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        at = 0
        while part := _read_wal(descriptor, at):
            pwrite_all(descriptor, part, at)
            at += len(part)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fsync_folder(path.parent)


def _read_wal(descriptor: int, at: int) -> bytes:
    """Read the next bytes of a WAL, beginning at the offset `at`.

    If the disk cannot read them, return an empty result. SQLite validates the bytes later.
    """
    try:
        return os.pread(descriptor, WAL_PART_BYTES, at)
    except OSError as error:
        if not is_unreadable(error):
            raise
        return b""


def empty_wal(connection: sqlite3.Connection) -> None:
    """Copy the WAL of earlier runs into the database file, sync it, and start a new WAL.

    If another process is reading the old WAL or the disk is too full, the old WAL is kept, and new
    data is appended to it. This is harmless if `rewrite_wal` has already made the old WAL durable.
    """
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if not rows_lack_room(error):
            raise


def damage_of(path: Path, *, thorough: bool) -> str | None:
    """Return a description of the damage in a database file, or None if there is none.

    If the argument `thorough` is True, as after an unclean stop, every page is read. Otherwise only
    the schema and the format are read. Unreadable data counts as damage only after repeated
    attempts.

    Raises:
        StoreUnavailable: the database cannot be opened, but is not damaged.
    """
    for _ in range(medium.READ_ATTEMPTS - 1):
        try:
            return _damage_of(path, thorough=thorough)
        except UnreadableDatabase:
            time.sleep(medium.READ_RETRY_SECONDS)
    try:
        return _damage_of(path, thorough=thorough)
    except UnreadableDatabase as error:
        return str(error)


def _damage_of(path: Path, *, thorough: bool) -> str | None:
    """Check the database in a single attempt. Return a description of the damage, or None.

    Raises StoreUnavailable if the database cannot be opened although it is not damaged, and
    UnreadableDatabase if a page cannot be read.
    """
    try:
        with closing(connect(path)) as connection:
            if formats.format_of(connection) == formats.UNKNOWN:
                return "it does not name its format"
            if {each.encode() for each in STATEMENTS} - {
                each.sql for each in definitions_of(connection)
            }:
                return "the definition of a table is damaged"
            if not thorough:
                return None
            row = connection.execute("PRAGMA quick_check(1)").fetchone()
    except UNREADABLE as error:
        refuse_if_unavailable(path, error)
        if getattr(error, "sqlite_errorcode", None) in READING_FAILED:
            raise UnreadableDatabase(str(error)) from error
        return str(error)
    found = str(row[0])
    # The check reports unreadable pages by their error code.
    if any(f"={code}" in found or f"code {code}" in found for code in READING_FAILED):
        raise UnreadableDatabase(found)
    return None if found == "ok" else found


def set_aside(path: Path) -> Path:
    """Move a damaged database and its WAL into a new folder. Return the database's new path."""
    folder = _new_damaged_folder(path.parent)
    for suffix in ("", "-wal", "-shm"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(folder / source.name)
    fsync_folder(folder)
    fsync_folder(path.parent)
    return folder / path.name


def set_file_aside(path: Path, data_dir: Path) -> Path:
    """Move a completely unreadable file into a new folder below `damaged/`.

    Return the new path of the file.
    """
    kept = _new_damaged_folder(data_dir) / path.name
    move_durably(path, kept)
    return kept


def _new_damaged_folder(data_dir: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    parent = data_dir / DAMAGED_FOLDER
    folder = parent / stamp
    count = 1
    while folder.exists():
        count += 1
        folder = parent / f"{stamp}-{count}"
    folder.mkdir(parents=True)
    return folder


def finish_salvage(path: Path) -> bool:
    """Finish an interrupted salvage: move the salvaged database to the damaged database's path.

    Return False if there is nothing to finish.
    """
    salvaged = path.with_name(SALVAGED_NAME)
    if path.exists() or not salvaged.exists():
        return False
    if any(path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-shm")):
        # The power failed before the damaged file's WAL and shared memory were moved.
        set_aside(path)
    move_durably(salvaged, path)
    return True


def salvage(damaged: Path, connection: sqlite3.Connection) -> dict[str, int]:
    """Copy all readable rows of a damaged database. Return their number for each table.

    Args:
        damaged: path of the damaged database.
        connection: connection to the new database.
    """
    saved = dict.fromkeys(TABLES, 0)
    with open_damaged(damaged, definitions_of(connection)) as source:
        connection.execute("BEGIN IMMEDIATE")
        for table in TABLES:
            saved[table] = copy_table(source, connection, table)
        connection.execute("COMMIT")
    return saved
