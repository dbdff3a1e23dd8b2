"""One fsync for everything that has arrived, callers that wait for it, and a full disk."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.process.durable_queue import committer
from gateway.process.files.queue_opening import QueueError
from tests.bridge.broker import DEADLINE_SECONDS
from tests.process.durable_queue.texts import Text, TextCommitter, TextDatabase
from tests.small_disk import small_disk


@contextlib.asynccontextmanager
async def running(database: TextDatabase, **arguments: float) -> AsyncIterator[TextCommitter]:
    """Run a committer until the block ends."""
    texts = TextCommitter(database, **arguments)
    task = asyncio.create_task(texts.run())
    try:
        yield texts
    finally:
        texts.stop()
        await asyncio.wait_for(task, DEADLINE_SECONDS)
        await texts.close()


async def test_what_has_arrived_is_one_commit_and_sent_after_it(tmp_path: Path) -> None:
    database = TextDatabase(tmp_path / "texts.db")
    async with running(database) as texts:
        texts.write("a")
        texts.write("b", "c")
        await texts.wait_until_durable()
        assert (database.commits, texts.sent) == (1, [b"1 a", b"2 b", b"3 c"])
        assert [each.packet_id for each in database.texts.in_flight()] == [1, 2, 3]
        texts.add_event(("pubrec", 2))
        await texts.wait_until_durable()
        assert (database.commits, texts.sent[3:]) == (2, [b"pubrel 2"])
        assert [each.released for each in database.texts.in_flight()] == [False, True, False]


async def test_a_removal_waits_for_another_commit_but_not_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = TextDatabase(tmp_path / "texts.db")
    async with running(database) as texts:
        texts.write("a", "b")
        texts.add_event(("pubrec", 1))
        await texts.wait_until_durable()
        texts.add_event(("pubrec", 1))
        await texts.wait_until_durable()
        commits = database.commits
        texts.add_event(("pubcomp", 1))
        await texts.wait_until_durable()
        assert (database.commits, database.texts.totals()[0]) == (commits, 2)
        texts.write("c")
        await texts.wait_until_durable()
        assert (database.commits, database.texts.totals()[0]) == (commits + 1, 2)
        monkeypatch.setattr(committer, "REMOVAL_SECONDS_MAX", 0.0)
        texts.add_event(("pubrec", 2))
        texts.add_event(("pubcomp", 2))
        async with asyncio.timeout(DEADLINE_SECONDS):
            while database.texts.totals()[0] != 1:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)


async def test_a_delayed_commit_waits_until_it_is_urgent(tmp_path: Path) -> None:
    database = TextDatabase(tmp_path / "texts.db")
    async with running(database, commit_delay_seconds=DEADLINE_SECONDS) as texts:
        texts.write("a")
        await asyncio.sleep(0.05)
        assert database.commits == 0
        texts.write("b")
        texts.hurry()
        async with asyncio.timeout(DEADLINE_SECONDS / 2):
            await texts.wait_until_durable()
        assert database.commits == 1


async def test_at_the_end_the_rest_is_committed_and_removals_with_it(tmp_path: Path) -> None:
    database = TextDatabase(tmp_path / "texts.db")
    async with running(database) as texts:
        texts.write("a", "b")
        await texts.wait_until_durable()
        texts.add_event(("pubrec", 1))
        texts.add_event(("pubcomp", 1))
        texts.write("c")
    again = TextDatabase(database.path)
    assert [each.message for each in again.texts.in_flight()] == [Text("b"), Text("c")]
    again.close()


async def test_an_error_of_the_disk_ends_it_with_one_line(tmp_path: Path) -> None:
    database = TextDatabase(tmp_path / "texts.db")
    texts = TextCommitter(database)

    def refuse() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    database.begin = refuse  # type: ignore[method-assign]
    texts.write("a")
    with pytest.raises(QueueError, match=r"cannot write the queue of texts .*: disk I/O error"):
        await asyncio.wait_for(texts.run(), DEADLINE_SECONDS)
    assert texts.sent == []
    await texts.close()


async def test_on_a_full_disk_messages_wait_and_answers_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "NO_ROOM_SECONDS", 0.01)
    with small_disk(tmp_path / "d", 4 << 20) as disk:
        database = TextDatabase(disk.folder / "texts.db")
        async with running(database) as texts:
            texts.write("a")
            await texts.wait_until_durable()
            disk.fill()
            texts.write("b" * 100_000)
            await texts.wait_until_durable()
            assert (texts.disk_full, texts.reports, len(texts.arrivals)) == (True, [True], 1)
            texts.add_event(("pubrec", 1))
            await texts.wait_until_durable()
            assert texts.sent == [b"1 a", b"pubrel 1"]
            disk.empty()
            async with asyncio.timeout(DEADLINE_SECONDS):
                while texts.arrivals:  # noqa: ASYNC110 - it has no event
                    await asyncio.sleep(0.01)
            assert texts.reports == [True, False]


async def test_a_message_whose_commit_found_no_room_is_sent_after_the_one_that_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "NO_ROOM_SECONDS", 0.01)
    database = TextDatabase(tmp_path / "texts.db")
    async with running(database) as texts:
        commit = texts.commits.commit

        async def no_room_once() -> bool:
            database.roll_back()
            monkeypatch.setattr(texts.commits, "commit", commit)
            return False

        monkeypatch.setattr(texts.commits, "commit", no_room_once)
        texts.write("a")
        await texts.wait_until_durable()
        assert (texts.sent, texts.queue.waiting, len(texts.queue.exchanges)) == ([], 0, 0)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not texts.sent:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        assert texts.sent == [b"2 a"], "its first identifier was never stored"
        assert (texts.queue.waiting, texts.queue.bytes_held) == (0, 2)


async def test_the_name_of_a_session_is_stored_with_the_next_commit(tmp_path: Path) -> None:
    database = TextDatabase(tmp_path / "texts.db")
    async with running(database) as texts:
        texts.add_event(("name-1", 0))
        await texts.wait_until_durable()
        assert database.property("session") == "name-1"


async def test_what_is_stopped_without_room_for_anything_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "NO_ROOM_SECONDS", 0.01)
    database = TextDatabase(tmp_path / "texts.db")
    async with running(database) as texts:
        texts.write("a")
        await texts.wait_until_durable()

        async def no_room() -> bool:
            database.roll_back()
            return False

        monkeypatch.setattr(texts.commits, "commit", no_room)
        texts.add_event(("pubrec", 1))
        await asyncio.sleep(0.05)
    assert texts.sent == [b"1 a"]
    again = TextDatabase(database.path)
    assert [each.released for each in again.texts.in_flight()] == [False]
    again.close()
