"""Damage to the uplink's file never prevents a start."""

import sqlite3
from pathlib import Path

import pytest

from gateway.process.files.queue_opening import QueueError
from gateway.process.mqtt_client.exchanges import Exchange
from gateway.uplink.recovery import open_uplink_store
from gateway.uplink.routes import Side
from tests.process.files.wrong_bytes import with_wrong_bytes
from tests.uplink.bench import message

COUNT = 500
PAGE_BYTES = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "uplink.db"
    store = open_uplink_store(path)
    store.begin()
    store.messages[Side.REMOTE].insert(
        [message(f"{number:05} " + "x" * 200) for number in range(COUNT)]
    )
    store.messages[Side.REMOTE].start([Exchange(1, 9, message())])
    store.note_received(Side.LOCAL, [7])
    store.set_property("session_local", "name")
    store.commit()
    store.close()
    return path


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    store = open_uplink_store(tmp_path / "uplink.db")
    assert store.messages[Side.LOCAL].totals() == (0, 0)
    store.close()


def test_of_a_damaged_file_what_can_be_read_is_kept_with_its_identifiers(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // PAGE_BYTES // 2 * PAGE_BYTES
    content[middle : middle + PAGE_BYTES] = bytes(PAGE_BYTES)
    path.write_bytes(content)
    store = open_uplink_store(path)
    count, _ = store.messages[Side.REMOTE].totals()
    assert COUNT - 50 < count < COUNT
    assert [each.packet_id for each in store.messages[Side.REMOTE].in_flight()] == [9]
    assert store.received(Side.LOCAL) == {7}
    assert store.property("session_local") == "name"
    store.close()
    assert len(list(path.parent.glob("uplink.db.damaged-*"))) == 1


def test_a_wrong_byte_in_a_definition_costs_nothing(path: Path) -> None:
    for content in with_wrong_bytes(path, step=61):
        path.write_bytes(content)
        store = open_uplink_store(path)
        assert store.messages[Side.REMOTE].totals()[0] == COUNT
        assert [each.packet_id for each in store.messages[Side.REMOTE].in_flight()] == [9]
        assert store.received(Side.LOCAL) == {7}
        assert store.property("session_local") == "name"
        store.close()


@pytest.mark.parametrize("content", [b"", b"no database at all" * 300])
def test_a_file_that_is_nothing_is_set_aside(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.with_name("uplink.db-wal").unlink(missing_ok=True)
    store = open_uplink_store(path)
    assert store.messages[Side.REMOTE].totals() == (0, 0)
    store.close()


def test_a_newer_format_is_left_alone_with_a_mend(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) "
        "VALUES ('uplink', 'm999', '')"
    )
    connection.commit()
    connection.close()
    with pytest.raises(QueueError, match=r"newer version of the uplink: .*, m999, expected"):
        open_uplink_store(path)


def test_a_place_where_no_file_can_be_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(QueueError, match="cannot open the uplink's queue"):
        open_uplink_store(tmp_path / "file" / "uplink.db")
