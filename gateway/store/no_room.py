"""A full disk, as distinct from one that fails: what lacked room may be written again later."""

import sqlite3

from gateway.files import descriptors
from gateway.files.disk_errors import is_full

_NO_ROOM_FOR_ROWS = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
"""SQLite has a code of its own for ENOSPC; where it makes its shared memory longer, it has not."""


class NoRoom(OSError):
    """The disk is full. What was to be written is not durable and has not been reported; the
    same call may be made again."""


def no_room_of(error: OSError) -> NoRoom:
    """Return the same error as one that may be tried again."""
    return NoRoom(error.errno, error.strerror, error.filename)


def lacks_room(error: BaseException | None) -> bool:
    """Return whether an error, or what led to it, means that the disk is full."""
    while error is not None:
        if isinstance(error, sqlite3.Error) and rows_lack_room(error):
            return True
        if is_full(error):
            return True
        error = error.__cause__
    return False


def rows_lack_room(error: sqlite3.Error) -> bool:
    """Return whether SQLite refused for want of room, or of a file descriptor."""
    code = getattr(error, "sqlite_errorcode", None)
    # SQLite names no cause where it cannot open a file.
    return code in _NO_ROOM_FOR_ROWS or (
        code == sqlite3.SQLITE_CANTOPEN and descriptors.are_used_up()
    )
