"""Reserved disk space for operations that must work on a full disk, such as deleting messages.

Even deleting a message writes to the database. Blocks for the write-ahead log (WAL) are therefore
allocated in advance. If the database must grow on a full disk, a reserve file next to the database
is shortened step by step.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from gateway.process.files import descriptors
from gateway.process.files.disk_errors import is_full
from gateway.process.files.private import open_private

# Size to which the write-ahead log shrinks after a burst. Its blocks are allocated at startup, for
# operations on a full disk. They are enough for a few hundred commits of acknowledgements.
WAL_BYTES_KEPT = 8 * 1024 * 1024
# Number of pages after which SQLite makes a checkpoint: 1 MiB, which is written at each start
# (`make_wal_room`). On a small disk it is a quarter of the WAL.
_CHECKPOINT_PAGES_MAX = 250
_PAGE_BYTES = 4096
# https://www.sqlite.org/fileformat2.html#walformat
_FRAME_BYTES = 24 + _PAGE_BYTES
# The codes with which SQLite reports ENOSPC.
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
# With less free space no new data is accepted. On a small file system the threshold is lower.
_FREE_BYTES_MIN = 16 * 1024 * 1024
_DISK_SHARE = 16
# The reserve is freed in steps, for a database file that grows while the disk is full. A sent row
# takes a few bytes more than a waiting row.
_RESERVE_BYTES = 1024 * 1024
_RESERVE_STEP_BYTES = 16 * _PAGE_BYTES


def lacks_room(error: Exception) -> bool:
    """Return True if an SQLite error means that the disk is full or too many files are open.

    Such an error does not mean that stored data is damaged.
    """
    code = getattr(error, "sqlite_errorcode", None)
    # SQLite gives no reason if it cannot open a file.
    no_file = code == sqlite3.SQLITE_CANTOPEN and descriptors.are_used_up()
    return is_full(error) or code in _NO_ROOM or no_file


class DiskSpace:
    """The disk space of one SQLite database: reserves space, and checks how much space is free.

    `connection` must be in autocommit mode. Methods raise `sqlite3.Error` if the file cannot be
    read or written. A full disk raises no error.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._reserve = path.with_name(path.name + "-reserve")
        self._connection = connection

    def make_wal_room(self) -> None:
        """Allocate blocks for the WAL in advance. During the call, nothing else may write to it.

        The blocks contain zeros, which SQLite treats as the end of the WAL.
        """
        total_bytes, _ = self._size_and_free_bytes()
        size_bytes = min(WAL_BYTES_KEPT, total_bytes // _DISK_SHARE)
        # The database file may have to grow by the data in the WAL: at most by a quarter of it.
        pages = max(1, min(_CHECKPOINT_PAGES_MAX, size_bytes // _PAGE_BYTES // 4))
        self._connection.execute(f"PRAGMA wal_autocheckpoint={pages}")
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        wal = self._path.with_name(self._path.name + "-wal")
        with contextlib.suppress(OSError), wal.open("r+b", buffering=0) as file:
            length = file.seek(0, os.SEEK_END)
            # The blocks up to a checkpoint are written now, because a commit into a block that is
            # only allocated makes the file system write its own journal too. They are written one
            # by one, because the kernel stores the data of one write together.
            for _ in range(length, pages * _FRAME_BYTES, _PAGE_BYTES):
                file.write(bytes(_PAGE_BYTES))
            if length < size_bytes:
                os.posix_fallocate(file.fileno(), 0, size_bytes)

    def make_reserve(self) -> None:
        """Create the reserve file and allocate its blocks.

        On a small file system, the reserve file is smaller.
        """
        total_bytes, _ = self._size_and_free_bytes()
        size_bytes = min(_RESERVE_BYTES, total_bytes // _DISK_SHARE)
        with contextlib.suppress(OSError):
            descriptor = open_private(self._reserve, os.O_RDWR | os.O_CREAT)
            try:
                if os.fstat(descriptor).st_size < size_bytes:
                    os.posix_fallocate(descriptor, 0, size_bytes)
            finally:
                os.close(descriptor)

    def has_room(self) -> bool:
        """Return True if there is enough free space to store new data.

        Some space is kept free, because deleting stored data also needs space.
        """
        total_bytes, free_bytes = self._size_and_free_bytes()
        return free_bytes >= min(_FREE_BYTES_MIN, total_bytes // _DISK_SHARE)

    def empty_wal(self) -> None:
        """Checkpoint the WAL, so that new commits reuse its allocated blocks.

        If the database file must grow on a full disk, space from the reserve file is used.
        """
        while not self._checkpoint() and self._give_of_reserve():
            pass

    def _checkpoint(self) -> bool:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.OperationalError as error:
            if not lacks_room(error):
                raise
            return False
        return True

    def _give_of_reserve(self) -> bool:
        with contextlib.suppress(OSError):
            size_bytes = self._reserve.stat().st_size
            os.truncate(self._reserve, max(0, size_bytes - _RESERVE_STEP_BYTES))
            return size_bytes > 0
        return False

    def _size_and_free_bytes(self) -> tuple[int, int]:
        """Return the size of the file system and the free space for this process, in bytes."""
        disk = os.statvfs(self._path.parent)
        return disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
