"""The database file: how it is opened, locked, checked and, if damaged, set aside and salvaged."""

import fcntl
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import IO

from sqlite_utils import Database

from gateway.store.schema import TABLES, migrations

DATABASE_NAME = "broker.db"
LOCK_NAME = "broker.lock"
RUNNING_NAME = "broker.running"
DAMAGED_FOLDER = "damaged"
SALVAGED_NAME = "broker.db.salvaged"
"""What was saved from a damaged database, until it takes that database's place."""

PAGE_BYTES = 4_096
"""SQLite's page, its default."""

CACHE_KIBIBYTES = 8_192
"""SQLite's page cache: holds the tables of a small gateway, and a burst's dirty pages."""

BUSY_MILLISECONDS = 5_000
"""How long a reader waits where another process recovers the WAL."""


_READING_FAILED = (
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
)
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


class DataDirectoryInUse(RuntimeError):
    """Another broker has this data directory."""


class StoreUnavailable(OSError):
    """The database cannot be used just now; that says nothing about what is in it."""


def refuse_if_unavailable(path: Path, error: BaseException) -> None:
    """Tell trouble around the database (full, read-only, locked) from damage in it.

    Raises:
        StoreUnavailable: it was trouble; setting the file aside would lose what it holds.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code in _READING_FAILED or (code & 0xFF) not in _CIRCUMSTANCES:
        return
    raise StoreUnavailable(
        f"cannot use {path}: {error}; it was left as it is. Look at the disk (full? read-only? "
        "opened by another program?), then start again"
    ) from error


def lock(data_dir: Path) -> IO[str]:
    """Take the data directory for this process; the lock goes with the returned file.

    Raises:
        DataDirectoryInUse: another broker holds it.
        StoreUnavailable: nothing can be written there.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        handle = (data_dir / LOCK_NAME).open("a+", encoding="ascii")
    except OSError as error:
        raise StoreUnavailable(
            f"cannot write into the data directory {data_dir}: {error.strerror}; look at the disk "
            "(read-only? full? whose is it?), or choose another with --data-dir"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.seek(0)
        holder = handle.read().strip() or "unknown"
        handle.close()
        raise DataDirectoryInUse(
            f"data directory {data_dir} is in use by another broker (process {holder}): "
            "stop it, or give this one its own with --data-dir"
        ) from None
    handle.truncate(0)
    handle.write(str(os.getpid()))
    handle.flush()
    return handle


def fsync_folder(folder: Path) -> None:
    """Make names created or removed in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def connect(path: Path) -> sqlite3.Connection:
    """Open the writing connection: WAL, every COMMIT fsynced, transactions begun by hand."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    # SQLite's own checkpoint would run inside a COMMIT that a client waits for.
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute(f"PRAGMA cache_size=-{CACHE_KIBIBYTES}")
    connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a connection that cannot write; it sees what is committed."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date."""
    migrations.apply(Database(connection))


def damage_of(path: Path, *, thorough: bool) -> str | None:
    """Return what is wrong with a database file, None if nothing was found.

    `thorough` reads every page (after an unclean stop); otherwise only the schema is read.

    Raises:
        StoreUnavailable: it cannot be opened for a reason that is not damage.
    """
    try:
        with closing(connect(path)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if not thorough:
                return None
            row = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        refuse_if_unavailable(path, error)
        return str(error)
    return None if row[0] == "ok" else str(row[0])


def revive_emptied(path: Path) -> bool:
    """Return whether a database was emptied, made long enough for its WAL to be read if it was.

    A file system that loses a file's size leaves zero bytes. SQLite takes that for a new database
    and deletes the WAL beside it, which may hold every page.
    """
    if path.stat().st_size:
        return False
    with path.open("r+b") as file:
        file.truncate(PAGE_BYTES)
    return True


def set_aside(path: Path) -> Path:
    """Move a damaged database with its WAL into a folder of its own and return its new path."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    parent = path.parent / DAMAGED_FOLDER
    folder = parent / stamp
    count = 1
    while folder.exists():
        count += 1
        folder = parent / f"{stamp}-{count}"
    folder.mkdir(parents=True)
    for suffix in ("", "-wal", "-shm"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(folder / source.name)
    fsync_folder(folder)
    fsync_folder(path.parent)
    return folder / path.name


def finish_salvage(path: Path) -> bool:
    """Let a salvaged database take the place of the damaged one that was set aside for it."""
    salvaged = path.with_name(SALVAGED_NAME)
    if path.exists() or not salvaged.exists():
        return False
    if any(path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-shm")):
        # The power went while the damaged file's companions were on their way.
        set_aside(path)
    salvaged.rename(path)
    fsync_folder(path.parent)
    return True


def salvage(damaged: Path, connection: sqlite3.Connection) -> dict[str, int]:
    """Copy every row that can still be read; return the rows saved by table."""
    saved = dict.fromkeys(TABLES, 0)
    try:
        source = sqlite3.connect(damaged, isolation_level=None)
    except sqlite3.DatabaseError:
        return saved
    connection.execute("BEGIN IMMEDIATE")
    with closing(source):
        for table in TABLES:
            saved[table] = _salvage_table(source, connection, table)
    connection.execute("COMMIT")
    return saved


def _salvage_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> int:
    before = target.total_changes
    # From both ends: a damaged page in the middle must not cost what lies behind it.
    for order in ("ASC", "DESC"):
        try:
            columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
            keys = [row[1] for row in source.execute(f"PRAGMA table_info({table})") if row[5]]
            if not columns:
                return 0
            ordering = ", ".join(f"{key} {order}" for key in keys)
            marks = ", ".join("?" for _ in columns)
            rows = source.execute(f"SELECT * FROM {table} ORDER BY {ordering}")
            insert = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"
            while (row := rows.fetchone()) is not None:
                target.execute(insert, row)
        except sqlite3.DatabaseError:
            continue  # the damage lies here: the other end may still be read
        break
    return target.total_changes - before
