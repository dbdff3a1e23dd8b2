"""The simulated disk: it keeps exactly the committed data, and may fail, fill up or stall.

The store is the real one on files. A power cut copies the files as a real disk might have them. The
copy has the journal up to the last fsync, and perhaps a part of the frame that was being written.
It has the tables as of some time since their last fsync, and any part of files that are never
fsynced. Then the store recovers the copy. If only the process ends, the page cache keeps all
written data. A commit has two moments: at the first it becomes durable, and at the second it is
reported. A cut may come between them.
"""

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.broker.store import database
from gateway.broker.store.journal_end import RECORD_NAME
from gateway.broker.store.journal_files import FOLDER_NAME, frame_of, journal_files
from gateway.broker.store.opening import Opened
from gateway.broker.store.unsynced import FILE_NAMES
from tests.instruments.simulation.simulated_store import SimulatedStore
from tests.instruments.simulation.virtual_loop import Timeline

SECTOR_BYTES = 64
"""The unit of a file without an fsync that is written or lost: small, like the files of a run."""

WAL_HEADER_BYTES = 32
"""The part of SQLite's WAL that shows if the WAL was restarted."""


@dataclass(frozen=True)
class DiskKind:
    """The speed of a disk, in seconds."""

    commit_seconds: float = 0.004
    slow: float = 0.0
    """The probability that a commit takes a hundred times as long."""


_TABLE_FILES = (database.DATABASE_NAME, f"{database.DATABASE_NAME}-wal")


def _contents(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


class Disk:
    """The disk with the data directory, across all runs of the broker."""

    def __init__(
        self,
        timeline: Timeline,
        folder: Path,
        seed: str,
        kind: DiskKind,
        committed: Callable[[bytes], None],
    ) -> None:
        self.timeline = timeline
        self.kind = kind
        self.chance = random.Random(f"{seed}/disk")  # noqa: S311 - the same every time
        self.folder = folder
        self.data_dir = folder / "0"
        self.generation = 0
        """The number of the broker's run. Work that an earlier run requested is dropped."""
        self.pending: bytes | None = None
        """The blob of the open transaction."""
        self.commit_count = 0
        self.failing: list[bool] = []
        """Commits that will fail, each with True if its data are kept nevertheless."""
        self.full_until = 0.0
        self.stalled_until = 0.0
        self.store: SimulatedStore | None = None
        self._committed = committed
        self._record_chance = random.Random(f"{seed}/record")  # noqa: S311 - the same every time

    def open_store(self, logged: list[str]) -> tuple[SimulatedStore, Opened]:
        """Open the store for the next run of the broker."""
        self.pending = None
        store = SimulatedStore(self.data_dir, self)
        opened = store.open(logged, self.timeline.now)
        self.store = store
        self.tables_fsynced()
        for blob in opened.recovered.unsynced:
            self._committed(blob)
        return store, opened

    def seconds(self) -> float:
        """Return the duration of a synchronous COMMIT."""
        return self.kind.commit_seconds * (0.3 + 1.4 * self.chance.random())

    def take_failure(self) -> tuple[bool, bool]:
        """Return two flags for the next COMMIT: whether it fails, and whether its data are kept."""
        return (True, self.failing.pop(0)) if self.failing else (False, False)

    def durable(self) -> None:
        """Make the open transaction durable."""
        self.commit_count += 1
        blob, self.pending = self.pending, None
        if blob is not None:
            self._committed(blob)

    def fsync_by_reader(self) -> None:
        """Simulate a reader's fdatasync of the journal, which makes its data durable."""
        if self.pending is not None and self.store is not None and self.store.journal._ahead:
            self.durable()

    def forget_ahead(self, store: SimulatedStore) -> None:
        """Drop a frame that could not be written from the page cache."""
        journal = store.journal
        if journal._ahead and self.pending is not None:
            os.pwrite(journal._descriptor, bytes(len(journal._ahead)), journal._at)
        self.pending = None  # no process will find the frame, whatever is fsynced later

    def cut(self, *, loses_page_cache: bool) -> None:
        """Copy the surviving files, and detach the process that had them open."""
        store, self.store = self.store, None
        if store is None:
            return
        before = self.data_dir
        self.generation += 1
        self.data_dir = self.folder / str(self.generation)
        self.data_dir.mkdir()
        if (before / database.RUNNING_NAME).exists():
            shutil.copyfile(before / database.RUNNING_NAME, self.data_dir / database.RUNNING_NAME)
        self._keep_journal(store, before, loses_page_cache=loses_page_cache)
        self._keep_tables(before)
        self._keep_record(before, loses_page_cache=loses_page_cache)
        store.close(clean=False)
        shutil.rmtree(before)

    def tables_fsynced(self) -> None:
        """Make the current database and its WAL durable."""
        self._fsynced = [_contents(self.data_dir / name) for name in _TABLE_FILES]
        self._record_fsynced = _contents(self.data_dir / RECORD_NAME)

    def _keep_record(self, before: Path, *, loses_page_cache: bool) -> None:
        """Keep the record file, or with a lost page cache perhaps its last durable contents."""
        content = _contents(before / RECORD_NAME)
        if loses_page_cache and self._record_chance.random() < 1 / 2:
            content = self._record_fsynced
        if content:
            (self.data_dir / RECORD_NAME).write_bytes(content)

    def _keep_tables(self, before: Path) -> None:
        """Keep the tables as of their last fsync, or the current ones with some of the WAL."""
        contents = self._fsynced
        fate = self.chance.random()
        if fate < 2 / 3:
            contents = [_contents(before / name) for name in _TABLE_FILES]
        if fate < 1 / 3:
            fsynced, wal = self._fsynced[1], contents[1]
            begins_again = wal[:WAL_HEADER_BYTES] != fsynced[:WAL_HEADER_BYTES]
            contents[1] = wal[: self.chance.randint(0 if begins_again else len(fsynced), len(wal))]
        for name, content in zip(_TABLE_FILES, contents, strict=True):
            (self.data_dir / name).write_bytes(content)

    def _keep_journal(self, store: SimulatedStore, before: Path, *, loses_page_cache: bool) -> None:
        """Keep the journal: all durable data, and some or all of the rest.

        Of a frame being written and of files without an fsync, a power cut keeps some parts. The
        end of the process keeps everything.
        """
        folder = self.data_dir / FOLDER_NAME
        shutil.copytree(before / FOLDER_NAME, folder)
        if loses_page_cache:
            for name in FILE_NAMES:
                self._keep_some(folder / name)
        files = journal_files(folder)
        if self.pending is None or not files or files[-1].salt is None:
            return
        at = store.journal._at
        frame = frame_of(files[-1].salt, self.pending)
        with files[-1].path.open("r+b") as file:
            if loses_page_cache:
                torn = frame[: self.chance.randrange(len(frame) + 1)]
                file.seek(at)
                file.write(torn.ljust(len(frame), b"\0"))
            file.seek(at)
            if file.read(len(frame)) == frame:
                self.durable()

    def _keep_some(self, path: Path) -> None:
        """Keep all, nothing, or some sectors of a file that was never fsynced."""
        if not path.exists():
            return
        fate = self.chance.random()
        if fate < 1 / 3:
            path.unlink()
        elif fate < 2 / 3:
            data = bytearray(path.read_bytes())
            for at in range(0, len(data), SECTOR_BYTES):
                if self.chance.random() < 1 / 4:
                    end = min(at + SECTOR_BYTES, len(data))
                    data[at:end] = bytes(end - at)
            path.write_bytes(data)

    def release(self) -> None:
        """Detach the process that had the files open, and leave the files unchanged."""
        store, self.store = self.store, None
        self.generation += 1
        if store is not None:
            store.close(clean=False)

    def update_room(self) -> None:
        """Set in the store whether the disk is full."""
        if self.store is not None:
            self.store.set_room(full=self.timeline.now < self.full_until)

    # -- work that the committer passes to its threads

    def run_blocking(self, work: Callable[[], Any], done: "asyncio.Future[Any]") -> None:
        """Run `work` after a delay, and report its result after another delay."""
        seconds = self.seconds()
        if self.kind.slow and self.chance.random() < self.kind.slow:
            seconds *= 100
        due = max(self.timeline.now + seconds, self.stalled_until)
        reported = due + seconds * self.chance.random()
        self.timeline.at(due, self._work, self.generation, work, done, reported)

    def _work(
        self,
        generation: int,
        work: Callable[[], Any],
        done: "asyncio.Future[Any]",
        reported: float,
    ) -> None:
        if self.store is None or generation != self.generation:
            return  # the process that requested this has ended
        try:
            result = work()
        except (sqlite3.Error, OSError) as error:
            self.timeline.at(reported, self._tell, generation, done, None, error)
        else:
            self.timeline.at(reported, self._tell, generation, done, result, None)

    def _tell(
        self,
        generation: int,
        done: "asyncio.Future[Any]",
        result: object,
        error: sqlite3.Error | OSError | None,
    ) -> None:
        if self.store is None or generation != self.generation or done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)
