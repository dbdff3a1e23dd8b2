"""Properties of every queue in SQLite: its format, its transactions, a full disk."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.process.files.queue_database import (
    CommitThread,
    OtherFormat,
    applied_migrations_of,
)
from tests.process.files.words import NewerWords, OlderWords, Words
from tests.small_disk import SmallDisk, small_disk

DISK_BYTES = 4 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.db"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "d", DISK_BYTES) as disk:
        yield disk


def test_what_is_committed_is_there_at_the_next_start_and_nothing_else(path: Path) -> None:
    words = Words(path)
    words.write("kept")
    words.commit()
    words.write("taken back")
    words.roll_back()
    words.write("not committed")
    words.close()
    again = Words(path)
    assert again.last == "kept"
    again.close()


def test_a_commit_is_fsynced_before_it_returns(path: Path) -> None:
    words = Words(path)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    # SQLite itself calls fdatasync, and its pragma reports that it does so in this mode. The power
    # cuts in tests/instruments/powercut prove the rest.
    assert words._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    words.close()


def test_a_new_file_has_no_migrations_and_one_that_was_made_has_all(path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    assert applied_migrations_of(connection, "words") == ()
    connection.close()
    words = Words(path)
    assert applied_migrations_of(words._connection, "words") == Words.migrations_known
    words.close()


@pytest.mark.parametrize(
    ("other", "found", "is_newer"),
    [(NewerWords, "m001_properties, m002_more", True), (OlderWords, "m001_old, m002_old", False)],
)
def test_a_file_in_another_format_is_refused_with_what_it_has_and_stays_as_it_is(
    path: Path, other: type[Words], found: str, is_newer: bool
) -> None:
    other(path).close()
    before = path.read_bytes()
    with pytest.raises(OtherFormat, match=f"found {found}, expected m001_properties") as refusal:
        Words(path)
    assert refusal.value.is_newer == is_newer
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
async def test_on_a_full_disk_nothing_of_a_transaction_is_there_and_it_may_be_tried_again(
    disk: SmallDisk,
) -> None:
    words = Words(disk.folder / "words.db")
    commits = CommitThread(words, "words-commit")
    words.write("before")
    assert await commits.commit()
    disk.fill()
    words.write("x" * DISK_BYTES)
    assert not await commits.commit()
    assert words.property("word") == "before"
    disk.empty()
    words.write("after")
    assert await commits.commit()
    assert words.property("word") == "after"
    await commits.close()


async def test_a_commit_waits_in_its_own_thread_and_a_cancelled_one_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = Words(path)
    commits = CommitThread(words, "words-commit")
    began, go_on = threading.Event(), threading.Event()
    commit = words.commit

    def held_commit() -> None:
        assert threading.current_thread().name.startswith("words-commit")
        began.set()
        go_on.wait()
        commit()

    monkeypatch.setattr(words, "commit", held_commit)
    words.write("held")
    task = asyncio.create_task(commits.commit())
    await asyncio.to_thread(began.wait)
    await asyncio.sleep(0.01)
    assert commits.seconds > 0
    task.cancel()
    asyncio.get_running_loop().call_later(0.01, go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert commits.seconds == 0
    assert not words._connection.in_transaction
    assert words.property("word") == "held"
    await commits.close()
