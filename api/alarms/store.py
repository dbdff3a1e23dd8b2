"""Stores the active alarms and a history of cleared alarms, so that they survive a restart.

The alarms are stored in an SQLite file, which is written only when an alarm changes. If the file
cannot be read, it is renamed, and a new empty file is created. The file is only a convenience.
Audits use the session log instead, which records what happened to each message.
"""

import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from api.alarms.alarm import Alarm, Key
from api.alarms.conditions.condition import Level

logger = logging.getLogger(__name__)

CLEARED_MAX: Final = 1_000
"""Cleared alarms in the history, about 500 kB: a month of a gateway with 30 alarms a day."""
VERSION: Final = 1
"""Version of the file's format (docs/formats/alarms.md)."""
_HAS_TABLE: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alarms'"
_COLUMNS: Final = {
    "number": int, "id": str, "subject": str, "level": int, "sentence": str, "fix": str,
    "since_ms": int, "changed_ms": int, "ended_ms": int, "cleared_ms": int,
    "acknowledged_by": str, "acknowledged_ms": int,
}  # fmt: skip


class AlarmStore:
    """Access to the SQLite file that stores alarms.

    If no path is given, or if the file cannot be used, nothing is stored on disk. Methods can be
    called from different threads, because a lock allows only one thread at a time. `close` also
    waits for this lock, because closing the file during a write would crash the process.
    """

    def __init__(self, path: Path | None) -> None:
        self._path: Final = path
        self.problem: str | None = None
        """The reason why alarms are not written to disk, or None if they are."""
        self._unsaved_active: Final[dict[Key, Alarm]] = {}
        self._unsaved_cleared: Final = deque[Alarm](maxlen=CLEARED_MAX)
        self._connection: sqlite3.Connection | None = None
        self._lock: Final = threading.Lock()

    def open(self) -> list[Alarm]:
        """Open the SQLite file, and return the active alarms that are stored in it.

        The list is empty if the file cannot be used. `open` can then be called again later.
        """
        with self._lock:
            return [] if self._path is None else self._opened_or_new(self._path)

    @property
    def is_missing(self) -> bool:
        """True if the SQLite file could not be opened."""
        return self.problem is not None and self._connection is None

    def _opened_or_new(self, path: Path) -> list[Alarm]:
        try:
            return self._opened(path)
        except (OSError, sqlite3.OperationalError) as error:
            self._fail(error)
            return []
        except sqlite3.DatabaseError as error:
            _set_aside(path, error)
        try:
            return self._opened(path)
        except sqlite3.DatabaseError as error:
            self._fail(error)
            return []

    def save(self, changed: Iterable[Alarm]) -> None:
        """Write the changed alarms to the SQLite file in one transaction.

        If this fails, as on a full disk, they are written with the next call. If the file is not
        open, they are written after it has been opened.
        """
        with self._lock:
            if self._path is None:
                return
            for alarm in changed:
                self._unsaved_active.pop(alarm.key, None)
                if alarm.cleared_ms is None:
                    self._unsaved_active[alarm.key] = alarm
                else:
                    self._unsaved_cleared.append(alarm)
            rows = [_row_of(each) for each in self._unsaved_cleared]
            rows += map(_row_of, self._unsaved_active.values())
            if rows and self._connection is not None and self._write(self._connection, rows):
                self._unsaved_cleared.clear()
                self._unsaved_active.clear()

    def _write(self, connection: sqlite3.Connection, rows: list[dict[str, Any]]) -> bool:
        """Write rows in one transaction. Return False, and store the problem, if this fails."""
        try:
            with connection:
                connection.executemany(
                    "DELETE FROM alarms WHERE id = :id AND subject = :subject "
                    "AND cleared_ms IS NULL",
                    rows,
                )
                names = [name for name in _COLUMNS if name != "number"]
                connection.executemany(
                    f"INSERT INTO alarms ({', '.join(names)}) "  # noqa: S608 - our own names
                    f"VALUES ({', '.join(':' + name for name in names)})",
                    rows,
                )
                connection.execute(
                    "DELETE FROM alarms WHERE number IN (SELECT number FROM alarms "
                    "WHERE cleared_ms IS NOT NULL ORDER BY number DESC LIMIT -1 OFFSET ?)",
                    (CLEARED_MAX,),
                )
        except sqlite3.DatabaseError as error:
            self._fail(error)
            return False
        self.problem = None
        return True

    def cleared(
        self, *, before: int | None, limit: int, level: Level | None = None
    ) -> list[tuple[int, Alarm]]:
        """Return cleared alarms with their row numbers, the latest first.

        Args:
            before: if given, only alarms with lower row numbers are returned.
            limit: the maximum number of alarms to return.
            level: if given, only alarms of this level are returned.
        """
        lowest, highest = (min(Level), max(Level)) if level is None else (level, level)
        with self._lock:
            if self._connection is None:
                return []
            try:
                rows = self._connection.execute(
                    "SELECT * FROM alarms WHERE cleared_ms IS NOT NULL AND number < ? "
                    "AND level BETWEEN ? AND ? ORDER BY number DESC LIMIT ?",
                    (2**62 if before is None else before, int(lowest), int(highest), limit),
                ).fetchall()
            except sqlite3.DatabaseError as error:
                self._fail(error)
                return []
        return [(row["number"], _alarm_of(row)) for row in rows]

    def close(self) -> None:
        """Wait until a write in progress has finished, then close the SQLite file if it is open."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _opened(self, path: Path) -> list[Alarm]:
        path.parent.mkdir(exist_ok=True)
        connection = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if not connection.execute(_HAS_TABLE).fetchone():
                _create_table(connection)
            elif connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                raise sqlite3.DatabaseError("another version wrote it")
            rows = connection.execute("SELECT * FROM alarms WHERE cleared_ms IS NULL").fetchall()
            alarms = [_alarm_of(row) for row in rows]
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self.problem = None
        return alarms

    def _fail(self, error: OSError | sqlite3.DatabaseError) -> None:
        if self.problem is None:
            logger.warning("alarms are not written to %s: %s", self._path, error)
        self.problem = f"alarms are not written: {error}"


def _create_table(connection: sqlite3.Connection) -> None:
    # Imported here, because sqlite-utils takes 3 MB of memory.
    from gateway.process.files.tables import Database  # noqa: PLC0415

    Database(connection).create_table("alarms", _COLUMNS, pk="number")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _set_aside(path: Path, error: sqlite3.DatabaseError) -> None:
    aside = path.with_name(f"{path.name}.damaged")
    with suppress(OSError):  # if this fails, the next attempt to open the file logs the problem
        path.replace(aside)
        logger.warning("%s cannot be used (%s) and is renamed to %s", path, error, aside)
    for suffix in ("-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def _row_of(alarm: Alarm) -> dict[str, Any]:
    return {**vars(alarm), "level": int(alarm.level)}


def _alarm_of(row: sqlite3.Row) -> Alarm:
    values = {name: row[name] for name in _COLUMNS if name != "number"}
    try:
        return Alarm(**{**values, "level": Level(row["level"])})
    except ValueError as error:
        raise sqlite3.DatabaseError(str(error)) from error
