"""A queue in SQLite that survives power cuts. It uses WAL mode, synchronous=FULL and one writer.

The bridge's outbox and the uplink's queue are based on this module. Statements run in the event
loop's thread and only change SQLite's cache. `CommitThread` calls `QueueDatabase.commit`, which
waits for the disk. During a commit, no other code may use the connection.
"""

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, TypeVar

from gateway.process.files.damaged_database import Definition, definitions_of
from gateway.process.files.disk_space import WAL_BYTES_KEPT, DiskSpace, lacks_room

Database = TypeVar("Database", bound="QueueDatabase")

_BUSY_SECONDS = 5.0


class NoRoom(Exception):
    """Error raised if the disk is full. The transaction was rolled back, and can be retried."""


class OtherFormat(RuntimeError):
    """Error raised for a file in a format that this version of the program does not support.

    A format is the list of migrations that were applied to a file. `found` is the file's format,
    and `expected` is the format that this version writes.
    """

    def __init__(self, found: tuple[str, ...], expected: tuple[str, ...]) -> None:
        super().__init__(f"found {', '.join(found)}, expected {', '.join(expected)}")
        self.is_newer = found[: len(expected)] == expected
        """True if a newer version wrote the file: it has all expected migrations, and more."""


class QueueDatabase(ABC):
    """The base class of a queue's database, which is stored in the file `path`.

    Methods raise `sqlite3.Error` if the file cannot be read or written. The constructor also raises
    `OtherFormat` if the file has a format that this version does not support.
    """

    migration_set: ClassVar[str]
    """The name of the migration set in sqlite-utils."""
    migrations_known: ClassVar[tuple[str, ...]]
    """The names of all migrations that this version supports, in order."""
    columns_of: ClassVar[Mapping[str, tuple[str, ...]]]
    """The columns of each table."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Autocommit: BEGIN and COMMIT are explicit, in the intended thread.
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self.space = DiskSpace(path, self._connection)
        try:
            self._prepare()
            self._load()
            self.space.make_wal_room()
        except (sqlite3.Error, OtherFormat):
            self._connection.close()
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        applied = applied_migrations_of(self._connection, self.migration_set)
        if applied != self.migrations_known[: len(applied)]:
            raise OtherFormat(applied, self.migrations_known)
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        execute(f"PRAGMA journal_size_limit={WAL_BYTES_KEPT}")
        # With this setting only a COMMIT writes, so only a COMMIT can find the disk full.
        execute("PRAGMA cache_spill=OFF")
        # The WAL of an earlier run is copied into the database file and synced, and a new WAL
        # begins. If another program is reading the old WAL, the old WAL remains. This is harmless,
        # because it is complete on disk (`queue_opening.py`).
        execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        found = execute("PRAGMA quick_check(1)").fetchone()
        if found != ("ok",):
            raise sqlite3.DatabaseError(f"integrity check: {found[0]}")
        if applied != self.migrations_known:
            self._migrate()
        for table, columns in self.columns_of.items():
            # The integrity check does not find a damaged name of a column.
            execute(f"SELECT {', '.join(columns)} FROM {table} LIMIT 0")  # noqa: S608 - our own names

    @abstractmethod
    def _migrate(self) -> None:
        """Migrate the tables to the current version."""

    @abstractmethod
    def _load(self) -> None:
        """Load the data that earlier runs of the program stored."""

    @property
    def definitions(self) -> list[Definition]:
        """The definitions of the database's tables and indexes."""
        return definitions_of(self._connection)

    def close(self) -> None:
        """Close the database file. An open transaction is rolled back."""
        self._connection.close()

    def begin(self) -> None:
        """Begin a transaction."""
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit the transaction. When this returns, all changes since `begin` are durable.

        Raises:
            NoRoom: if the disk is full. The transaction is rolled back.
        """
        try:
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not lacks_room(error):
                raise
            self.roll_back()
            self.space.empty_wal()
            raise NoRoom(str(error)) from error

    def roll_back(self) -> None:
        """Roll back the transaction. All changes since `begin` are discarded."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def property(self, name: str) -> str | None:
        """Return the value stored under `name` in the table `properties`, or None if not found."""
        row = self._connection.execute(
            "SELECT value FROM properties WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        """Store a value under `name` in the table `properties`."""
        self._connection.execute(
            "INSERT OR REPLACE INTO properties (name, value) VALUES (?, ?)", (name, value)
        )


class CommitThread:
    """A thread that commits a queue's transactions, so that commits do not block the event loop."""

    def __init__(self, database: QueueDatabase, name: str) -> None:
        self._database = database
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        """The number of seconds since the running commit began, or 0 if no commit is running."""
        if self._began is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._began

    async def commit(self) -> bool:
        """Commit the transaction in the thread. Return True, or False if the disk is full."""
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        done = loop.run_in_executor(self._executor, self._database.commit)
        try:
            await asyncio.shield(done)
        except NoRoom:
            return False
        except asyncio.CancelledError:
            await done  # The thread uses the connection until the commit is done.
            raise
        finally:
            self._began = None
        return True

    async def close(self) -> None:
        """Close the database and stop the thread. If a commit is running, wait for it first."""
        await asyncio.get_running_loop().run_in_executor(self._executor, self._database.close)
        self._executor.shutdown()


def applied_migrations_of(connection: sqlite3.Connection, migration_set: str) -> tuple[str, ...]:
    """Return the names of the migrations that were applied to a database, in order.

    The result is empty for a new file.
    """
    table = "SELECT 1 FROM sqlite_schema WHERE name = '_sqlite_migrations'"
    if connection.execute(table).fetchone() is None:
        return ()
    rows = connection.execute(
        "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid",
        (migration_set,),
    )
    return tuple(name for (name,) in rows)
