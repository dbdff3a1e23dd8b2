"""The file of alarms: it survives a restart, has a limited size, and its errors stop nothing."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from api.alarms import store as module
from api.alarms.alarm import Alarm
from api.alarms.conditions.condition import Level
from api.alarms.store import AlarmStore

LOST = Alarm(
    id="port_lost", subject="port gps", level=Level.ATTENTION, sentence="It is lost.",
    fix="Check the plug.", since_ms=5, changed_ms=5,
)  # fmt: skip
CLEARED = replace(LOST, ended_ms=8, cleared_ms=9, acknowledged_by="ben", acknowledged_ms=7)


def opened(path: Path) -> tuple[AlarmStore, list[Alarm]]:
    store = AlarmStore(path)
    return store, store.open()


def test_active_alarms_outlive_a_restart(tmp_path: Path) -> None:
    store, alarms = opened(tmp_path / "history" / "alarms.db")
    assert alarms == []
    store.save([LOST])
    store.save([replace(LOST, acknowledged_by="ben", acknowledged_ms=6)])
    store.close()
    again, alarms = opened(tmp_path / "history" / "alarms.db")
    assert alarms == [replace(LOST, acknowledged_by="ben", acknowledged_ms=6)]
    again.save([CLEARED])
    assert opened(tmp_path / "history" / "alarms.db")[1] == []
    assert [alarm for _, alarm in again.cleared(before=None, limit=10)] == [CLEARED]


def test_the_history_is_bounded_and_read_in_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLEARED_MAX", 5)
    store, _ = opened(tmp_path / "alarms.db")
    for number in range(9):
        level = Level.BAD if number == 6 else Level.ATTENTION
        store.save([replace(CLEARED, subject=str(number), level=level)])
    store.save([LOST])
    first = store.cleared(before=None, limit=3)
    second = store.cleared(before=first[-1][0], limit=3)
    assert [alarm.subject for _, alarm in first + second] == ["8", "7", "6", "5", "4"]
    severe = store.cleared(before=None, limit=3, level=Level.BAD)
    assert [alarm.subject for _, alarm in severe] == ["6"]


@pytest.mark.parametrize("contents", [b"\0" * 8192, b"no database" * 1000])
def test_a_damaged_file_is_put_aside(tmp_path: Path, contents: bytes) -> None:
    path = tmp_path / "alarms.db"
    path.write_bytes(contents)
    store, alarms = opened(path)
    assert (alarms, store.problem) == ([], None)
    assert path.with_name("alarms.db.damaged").read_bytes() == contents
    store.save([LOST])
    store.close()
    assert opened(path)[1] == [LOST]


def test_a_damaged_file_that_cannot_be_renamed_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "alarms.db"
    path.write_bytes(b"no database" * 1000)
    path.with_name("alarms.db.damaged").mkdir()
    store, alarms = opened(path)
    assert (alarms, store.is_missing) == ([], True)
    assert store.open() == []
    (message,) = caplog.messages
    assert message.startswith("alarms are not written to ")


def test_a_file_of_another_version_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "alarms.db"
    opened(path)[0].close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert opened(path)[1] == []
    assert path.with_name("alarms.db.damaged").exists()


def test_a_place_that_cannot_be_written_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "alarms.db").mkdir()
    store, alarms = opened(tmp_path / "alarms.db")
    assert alarms == []
    assert store.problem is not None
    store.save([LOST])
    assert store.cleared(before=None, limit=3) == []


def test_a_directory_that_cannot_be_made_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "history").touch()
    store, alarms = opened(tmp_path / "history" / "alarms.db")
    assert alarms == []
    assert store.problem is not None


def test_what_a_full_disk_refused_is_written_when_there_is_room_again(tmp_path: Path) -> None:
    path = tmp_path / "alarms.db"
    store, _ = opened(path)
    other = replace(LOST, subject="port meter")
    store.save([other])
    with disk_full(store):
        store.save([LOST])
        store.save([replace(LOST, acknowledged_by="ben", acknowledged_ms=6)])
        store.save([replace(CLEARED, subject="port meter")])
        assert store.problem is not None
    store.save([])
    assert store.problem is None
    store.close()
    again, alarms = opened(path)
    assert alarms == [replace(LOST, acknowledged_by="ben", acknowledged_ms=6)]
    assert [alarm.subject for _, alarm in again.cleared(before=None, limit=10)] == ["port meter"]
    again.close()


def test_what_waits_for_room_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLEARED_MAX", 5)
    store, _ = opened(tmp_path / "alarms.db")
    with disk_full(store):
        for number in range(9):
            store.save([replace(CLEARED, subject=str(number))])
    store.save([LOST])
    found = store.cleared(before=None, limit=10)
    assert [alarm.subject for _, alarm in found] == ["8", "7", "6", "5", "4"]
    store.close()


@contextmanager
def disk_full(store: AlarmStore) -> Iterator[None]:
    """Make SQLite refuse every write of the store, as on a full disk."""
    connection = store._connection
    assert connection is not None
    connection.execute("PRAGMA query_only = 1")
    try:
        yield
    finally:
        connection.execute("PRAGMA query_only = 0")


def test_without_a_path_nothing_is_kept() -> None:
    store = AlarmStore(None)
    assert store.open() == []
    store.save([LOST])
    assert store.problem is None


def test_a_file_that_is_closed_during_a_write_is_closed_after_it(tmp_path: Path) -> None:
    # Without the lock SQLite ends the process within some rounds.
    many = [replace(LOST, subject=f"port {number}") for number in range(300)]
    for _ in range(20):
        store, _ = opened(tmp_path / "alarms.db")
        writing = threading.Thread(target=store.save, args=(many,))
        writing.start()
        store.close()
        writing.join()
        assert store.problem is None
    store, alarms = opened(tmp_path / "alarms.db")
    assert len(alarms) in (0, 300), "all of a write, or nothing of it"
    store.close()
