"""Disk space reserved for work that must continue when the disk is full."""

import errno
import sqlite3
from pathlib import Path

import pytest
from firmware_bridge.outbox.store import OutboxStore

from gateway.process.files import disk_space
from gateway.process.files.disk_space import lacks_room
from tests.bridge.outbox.bench import readings


def blocks_of(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_the_wal_has_its_blocks_before_anything_is_written(tmp_path: Path) -> None:
    store = OutboxStore(tmp_path / "outbox.db")
    wal = tmp_path / "outbox.db-wal"
    assert blocks_of(wal) >= disk_space.WAL_BYTES_KEPT
    store.begin()
    store.readings.insert(readings(*(f"r{number}" for number in range(1000))))
    store.commit()
    assert wal.stat().st_size == disk_space.WAL_BYTES_KEPT
    store.close()
    again = OutboxStore(tmp_path / "outbox.db")
    assert again.readings.last_number == 1000, "zeros behind the frames are no frames"
    again.close()


def test_the_reserve_is_made_once_and_given_back_in_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = OutboxStore(tmp_path / "outbox.db")
    reserve = tmp_path / "outbox.db-reserve"
    store.space.make_reserve()
    store.space.make_reserve()
    whole = reserve.stat().st_size
    assert whole == 1024 * 1024
    found = iter((False, False, True))
    monkeypatch.setattr(store.space, "_checkpoint", lambda: next(found))
    store.space.empty_wal()
    assert reserve.stat().st_size == whole - 2 * 16 * 4096
    store.close()


def test_of_what_is_free_some_is_left_to_those_that_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = OutboxStore(tmp_path / "outbox.db")
    shown = []
    for free in (16 * 1024 * 1024, 16 * 1024 * 1024 - 1):
        monkeypatch.setattr(store.space, "_size_and_free_bytes", lambda free=free: (1 << 40, free))
        shown.append(store.space.has_room())
    monkeypatch.setattr(store.space, "_size_and_free_bytes", lambda: (1600, 100))
    assert (shown, store.space.has_room()) == ([True, False], True)
    store.close()


def test_a_full_disk_is_distinguished_from_a_broken_one() -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    broken = sqlite3.OperationalError("disk I/O error")
    broken.sqlite_errorcode = sqlite3.SQLITE_IOERR
    assert lacks_room(full)
    assert lacks_room(OSError(errno.ENOSPC, "No space left on device"))
    assert not lacks_room(broken)
    assert not lacks_room(OSError(errno.EIO, "Input/output error"))
