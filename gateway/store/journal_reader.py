"""The journal as another process reads it: in order, page by page, without disturbing anybody."""

import logging
import sqlite3
from pathlib import Path

from gateway.store.database import DATABASE_NAME, connect_read_only

logger = logging.getLogger(__name__)


class JournalReader:
    """Reads blobs from a broker's database. Opens it when it is there, again after damage."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / DATABASE_NAME
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._readable = True

    def blobs_after(self, sequence: int, bytes_max: int) -> list[bytes]:
        """Return blobs that hold events behind `sequence`, oldest first, about `bytes_max` bytes.

        Nothing comes back while there is no database or it cannot be read just now: the broker may
        be starting, or setting a damaged file aside.
        """
        try:
            connection = self._open()
            blobs = [] if connection is None else self._read(connection, sequence, bytes_max)
        except sqlite3.DatabaseError as error:
            self.close()
            if self._readable:
                logger.warning("the journal cannot be read just now: %s", error)
            self._readable = False
            return []
        self._readable = True
        return blobs

    def _open(self) -> sqlite3.Connection | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self.close()
            return None
        file = (status.st_dev, status.st_ino)
        if self._connection is None or file != self._file:
            # A damaged database is set aside under another name: its successor is what counts.
            self.close()
            self._connection = connect_read_only(self._path)
            self._file = file
        return self._connection

    def _read(self, connection: sqlite3.Connection, sequence: int, bytes_max: int) -> list[bytes]:
        # The blob that holds `sequence + 1` begins at or before it.
        row = connection.execute(
            "SELECT max(sequence) FROM journal WHERE sequence <= ?", (sequence + 1,)
        ).fetchone()
        first = row[0] if row[0] is not None else 0
        blobs: list[bytes] = []
        size_bytes = 0
        cursor = connection.execute(
            "SELECT blob FROM journal WHERE sequence >= ? ORDER BY sequence", (first,)
        )
        for (blob,) in cursor:
            blobs.append(blob or b"")  # a damaged row may read NULL: reported as no blob at all
            size_bytes += len(blobs[-1])
            if size_bytes >= bytes_max:
                break
        cursor.close()  # an open statement would keep the WAL from being reset
        return blobs

    def close(self) -> None:
        """Let go of the file; the next read opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
