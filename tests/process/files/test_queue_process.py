"""The process around a queue runs alone, waits for disk space, and closes the queue at its end."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gateway.process.files import queue_process
from gateway.process.files.lock import ProcessLock
from gateway.process.files.queue_database import NoRoom
from gateway.process.files.queue_opening import QueueError, QueueNames
from gateway.process.files.queue_process import Supervision, end_all, serve_queue
from tests.process.files.words import Words

NAMES = QueueNames("the dictionary", "printer", "words")


class Printing:
    """A process that works on a queue of words. `reports` records the calls to its supervisor."""

    def __init__(self, path: Path, refusals: int = 0, error: Exception | None = None) -> None:
        self.path = path
        self.reports: list[str] = []
        self.stop = asyncio.Event()
        self._refusals = refusals
        self._error = error

    async def serve(self) -> None:
        await serve_queue(
            self.path,
            NAMES,
            Supervision(self.stop, lambda: self._report("ready"), lambda: self._report("alive")),
            open_database=self._open,
            opened_on=self._take,
            serve=self._work,
        )

    async def close(self) -> None:
        self._report("closed")
        self.words.close()

    def _report(self, what: str) -> None:
        self.reports.append(what)

    def _open(self, path: Path) -> Words:
        if self._refusals:
            self._refusals -= 1
            raise NoRoom("database or disk is full")
        return Words(path)

    def _take(self, words: Words) -> "Printing":
        self.words = words
        if isinstance(self._error, sqlite3.Error | NoRoom):
            error, self._error = self._error, None
            raise error
        return self

    async def _work(self, _: "Printing") -> None:
        self._report("work")
        if self._error is not None:
            raise ExceptionGroup("tasks", [self._error])


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_process, "OPEN_AGAIN_SECONDS", 0.0)


async def test_the_queue_is_closed_after_the_work(tmp_path: Path) -> None:
    printing = Printing(tmp_path / "new" / "words.db")
    await printing.serve()
    assert printing.reports == ["work", "closed"]


async def test_a_second_process_is_refused_with_the_fix(tmp_path: Path) -> None:
    with ProcessLock(tmp_path / "printer.lock") as lock:
        lock.take()
        with pytest.raises(QueueError, match=f"another printer is using {tmp_path}; stop it"):
            await Printing(tmp_path / "words.db").serve()


async def test_a_full_disk_is_waited_for_logged_once_and_reported_as_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    printing = Printing(tmp_path / "words.db", refusals=2)
    await printing.serve()
    assert printing.reports == ["ready", "alive", "alive", "work", "closed"]
    assert caplog.text.count("cannot be opened on a full disk") == 1


async def test_a_disk_that_is_full_a_little_later_is_waited_for_as_well(tmp_path: Path) -> None:
    printing = Printing(tmp_path / "words.db", error=NoRoom("database or disk is full"))
    await printing.serve()
    assert printing.reports == ["ready", "alive", "work", "closed"]


async def test_the_end_comes_before_the_room(tmp_path: Path) -> None:
    printing = Printing(tmp_path / "words.db", refusals=1)
    printing.stop.set()
    await printing.serve()
    assert printing.reports == []


async def test_a_disk_that_refuses_is_one_line(tmp_path: Path) -> None:
    printing = Printing(tmp_path / "words.db", error=sqlite3.OperationalError("disk I/O error"))
    with pytest.raises(QueueError, match="cannot write the dictionary"):
        await printing.serve()


async def test_of_failed_tasks_the_first_error_is_what_the_process_ends_with(
    tmp_path: Path,
) -> None:
    printing = Printing(tmp_path / "words.db", error=QueueError("cannot write"))
    with pytest.raises(QueueError, match="cannot write"):
        await printing.serve()
    assert printing.reports == ["work", "closed"]


async def test_tasks_have_ended_when_all_are_ended() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    tasks = [asyncio.create_task(wait()) for _ in range(2)]
    await end_all(tasks)
    assert all(task.cancelled() for task in tasks)
