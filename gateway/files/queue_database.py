"""A queue in SQLite that survives any power cut: WAL mode, synchronous=FULL, one writer.

The bridge's outbox and the uplink's queue are built on it. Statements run on the event loop's
thread and only touch the page cache; `QueueDatabase.commit` waits for the disk, and `CommitThread`
calls it. Nothing else uses the connection meanwhile.
"""

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, TypeVar

from gateway.files.disk_space import WAL_BYTES_KEPT, DiskSpace, lacks_room

Database = TypeVar("Database", bound="QueueDatabase")

_BUSY_SECONDS = 5.0


class NoRoom(Exception):
    """The disk has no room: nothing of the transaction is there, and it may be tried again."""


class NewerFormat(RuntimeError):
    """The file is sound, and of a version of the tables that this program does not know."""


class QueueDatabase(ABC):
    """The file at `path`, open until `close`.

    Raises `sqlite3.Error` where it cannot be read or written, and the constructor `NewerFormat`.
    """

    migration_set: ClassVar[str]
    """As sqlite-utils has it."""
    migrations_known: ClassVar[tuple[str, ...]]
    """The names of its migrations, in their order: together they are the format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Autocommit: BEGIN and COMMIT stand where they are meant, and in which thread.
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self.space = DiskSpace(path, self._connection)
        try:
            self._prepare()
            self._load()
            self.space.make_wal_room()
        except (sqlite3.Error, NewerFormat):
            self._connection.close()
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        applied = applied_migrations_of(self._connection, self.migration_set)
        if newer := [name for name in applied if name not in self.migrations_known]:
            raise NewerFormat(", ".join(newer))
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        execute(f"PRAGMA journal_size_limit={WAL_BYTES_KEPT}")
        # Then a COMMIT alone writes, and it alone can find the disk full.
        execute("PRAGMA cache_spill=OFF")
        # Nothing is appended to the WAL of an earlier run: it goes into the database file, fsynced,
        # and a new one begins. One that another program is reading stays, which costs nothing: it
        # is whole on the medium (`queue_opening.py`).
        execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        found = execute("PRAGMA quick_check(1)").fetchone()
        if found != ("ok",):
            raise sqlite3.DatabaseError(f"integrity check: {found[0]}")
        if applied != self.migrations_known:
            self._migrate()

    @abstractmethod
    def _migrate(self) -> None:
        """Bring the tables up to date."""

    @abstractmethod
    def _load(self) -> None:
        """Read what the last run left."""

    def close(self) -> None:
        """Close the file; an open transaction comes to nothing."""
        self._connection.close()

    def begin(self) -> None:
        """Begin a transaction."""
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit; return when everything since `begin` survives a power cut.

        Raises:
            NoRoom: nothing since `begin` is stored.
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
        """End the transaction; nothing since `begin` is stored."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def property(self, name: str) -> str | None:
        """Return a property's value; None where it has none."""
        row = self._connection.execute(
            "SELECT value FROM properties WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        """Give a property its value."""
        self._connection.execute(
            "INSERT OR REPLACE INTO properties (name, value) VALUES (?, ?)", (name, value)
        )


class CommitThread:
    """The one thread that waits for the disk on behalf of a queue's event loop."""

    def __init__(self, database: QueueDatabase, name: str) -> None:
        self._database = database
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        """How long the commit that is under way has taken; 0 where there is none."""
        if self._began is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._began

    async def commit(self) -> bool:
        """Return whether there was room; without it nothing of the transaction is there."""
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        done = loop.run_in_executor(self._executor, self._database.commit)
        try:
            await asyncio.shield(done)
        except NoRoom:
            return False
        except asyncio.CancelledError:
            await done  # The connection belongs to the worker until then.
            raise
        finally:
            self._began = None
        return True

    async def close(self) -> None:
        """Close the database, behind a COMMIT that may still run."""
        await asyncio.get_running_loop().run_in_executor(self._executor, self._database.close)
        self._executor.shutdown()


def applied_migrations_of(connection: sqlite3.Connection, migration_set: str) -> tuple[str, ...]:
    """Return the names in the order in which they were applied, none for a new file."""
    table = "SELECT 1 FROM sqlite_schema WHERE name = '_sqlite_migrations'"
    if connection.execute(table).fetchone() is None:
        return ()
    rows = connection.execute(
        "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid",
        (migration_set,),
    )
    return tuple(name for (name,) in rows)
