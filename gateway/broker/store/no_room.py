"""Detects a full disk. A retry is safe when the disk is full, but not after other errors."""

import sqlite3

from gateway.process.files import descriptors
from gateway.process.files.disk_errors import is_full

_NO_ROOM_FOR_ROWS = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
"""SQLite's error codes for a full disk: one for writes, the other for growing its shared memory."""


class NoRoom(OSError):
    """Error raised when the disk is full. The operation may be retried.

    The data is not durable yet, so nothing that depends on it may be acknowledged.
    """


def no_room_of(error: OSError) -> NoRoom:
    """Return a NoRoom exception for an OSError that was caused by a full disk."""
    return NoRoom(error.errno, error.strerror, error.filename)


def lacks_room(error: BaseException | None) -> bool:
    """Return True if an error, or one of its causes, means that the disk is full."""
    while error is not None:
        if isinstance(error, sqlite3.Error) and rows_lack_room(error):
            return True
        if is_full(error):
            return True
        error = error.__cause__
    return False


def rows_lack_room(error: sqlite3.Error) -> bool:
    """Return True if SQLite failed for lack of disk space or file descriptors."""
    code = getattr(error, "sqlite_errorcode", None)
    # SQLite gives no cause when it cannot open a file.
    return code in _NO_ROOM_FOR_ROWS or (
        code == sqlite3.SQLITE_CANTOPEN and descriptors.are_used_up()
    )
