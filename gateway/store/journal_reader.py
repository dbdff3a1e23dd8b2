"""The journal as another process reads it: in order, page by page, without disturbing anybody."""

import sqlite3
from pathlib import Path

from gateway.store.database import DATABASE_NAME, connect_read_only


class JournalReader:
    """Reads blobs from a broker's database. Opens it when it is there, again after damage."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / DATABASE_NAME
        self._connection: sqlite3.Connection | None = None

    def blobs_after(self, sequence: int, bytes_max: int) -> list[bytes]:
        """Return blobs that hold events behind `sequence`, oldest first, about `bytes_max` bytes.

        Nothing comes back while there is no database or it cannot be read just now: the broker may
        be starting, or setting a damaged file aside.
        """
        if self._connection is None:
            if not self._path.exists():
                return []
            self._connection = connect_read_only(self._path)
        try:
            return self._read(self._connection, sequence, bytes_max)
        except sqlite3.DatabaseError:
            self.close()
            return []

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
            blobs.append(blob)
            size_bytes += len(blob)
            if size_bytes >= bytes_max:
                break
        cursor.close()  # an open statement would keep the WAL from being reset
        return blobs

    def close(self) -> None:
        """Let go of the file; the next read opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
