"""The store on the simulated disk, whose commits may fail or find no room."""

import errno
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.broker.store.no_room import NoRoom
from gateway.broker.store.store import Store

if TYPE_CHECKING:
    from tests.instruments.simulation.disk import Disk

JOURNAL_FILE_BYTES = 3_000
"""Short files, so that files are completed and reused within a run."""

ROOM_PAGES = 1 << 30
"""The largest size of a database on a disk that is not full, in pages."""


class SimulatedStore(Store):
    """The store on a disk whose COMMIT may fail."""

    def __init__(self, data_dir: Path, disk: "Disk") -> None:
        super().__init__(data_dir, JOURNAL_FILE_BYTES)
        self.disk = disk
        self.is_full = False
        self.lacks_room = False
        """True while a batch that found no room has not been written."""

    def begin(self, first_sequence: int, blob: bytes | None, next_message: int = 0) -> None:
        super().begin(first_sequence, blob, next_message)
        self.disk.pending = blob

    def fsync_commit(self) -> float:
        fails, kept = self.disk.take_failure()
        seconds = 0.0
        if self.is_full and self._pending is not None:
            self.lacks_room = True
            raise NoRoom(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if fails and not kept:
            self._pending = None
            self.disk.forget_ahead(self)
        else:
            self.lacks_room &= self._pending is None
            super().fsync_commit()
            seconds = self.disk.seconds()
            self.disk.durable()
        if fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return seconds

    def commit_rows(self) -> None:
        fails, kept = self.disk.take_failure()
        if kept or not fails:
            super().commit_rows()
        if fails:
            raise sqlite3.OperationalError("disk I/O error")

    def write_ahead(self) -> None:
        if self.is_full:
            self.lacks_room = True
        else:
            super().write_ahead()

    def finish_checkpoint(self) -> int:
        covered = super().finish_checkpoint()
        self.disk.tables_fsynced()
        return covered

    def set_room(self, *, full: bool) -> None:
        """Allow the file to grow, or limit it to its current pages."""
        self.is_full = full
        pages = (
            self._files.writer.execute("PRAGMA page_count").fetchone()[0] if full else ROOM_PAGES
        )
        self._files.writer.execute(f"PRAGMA max_page_count={pages}")
