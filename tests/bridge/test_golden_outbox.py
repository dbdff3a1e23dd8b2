"""Outboxes written by earlier versions, with which the present bridge continues exactly."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from firmware_bridge.outbox.recovery import open_outbox_store

from gateway.process.files.queue_opening import QueueError
from tests.bridge.running import running_bridge, settings_of
from tests.bridge.session_broker import Session, SessionBroker

GOLDEN = sorted((Path(__file__).parent / "golden").glob("outbox-*.db"))
CLIENT_ID = "oncegate-bridge"


@dataclass(frozen=True)
class Row:
    payload: bytes
    packet_id: int | None
    released: bool


def rows_of(path: Path) -> list[Row]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT payload, packet_id, released FROM readings ORDER BY number"
        ).fetchall()
    return [Row(payload, packet_id, bool(released)) for payload, packet_id, released in rows]


@pytest.fixture(params=GOLDEN, ids=lambda path: path.name)
def outbox(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    copy = tmp_path / "data" / "outbox.db"
    copy.parent.mkdir()
    shutil.copy(request.param, copy)
    return copy


@pytest.fixture
async def broker() -> AsyncIterator[SessionBroker]:
    broker = SessionBroker()
    yield broker
    await broker.close()


async def test_an_outbox_of_each_version_is_published_whole_and_nothing_twice(
    outbox: Path, broker: SessionBroker
) -> None:
    rows = rows_of(outbox)
    in_flight = [row for row in rows if row.packet_id is not None]
    assert {row.released for row in in_flight} == {True, False}
    assert len(in_flight) < len(rows)
    # The broker has all released messages, and the first half of those in flight.
    arrived = in_flight[: len(in_flight) // 2]
    assert all(row in arrived for row in in_flight if row.released)
    broker.sessions[session_of(outbox)] = Session(
        {row.packet_id: row.payload for row in arrived if row.packet_id is not None}
    )
    port = await broker.open_address()
    settings = settings_of(outbox.parent, port, client_id=CLIENT_ID)
    async with running_bridge(settings):
        await broker.wait_for(len(rows))
    assert sorted(broker.delivered) == sorted(row.payload for row in rows)
    assert rows_of(outbox) == []


def test_what_was_to_be_retained_still_is_and_nothing_of_earlier_versions(outbox: Path) -> None:
    is_earlier = outbox_version_of(outbox) < 4
    store = open_outbox_store(outbox)
    found = [each.message for each in store.readings.in_flight()]
    found += [each for _, each in store.readings.waiting(40, after=16)]
    store.close()
    assert len(found) == 39
    for each in found:
        assert each.retain == (not is_earlier and b'"device":"kettle"' in each.payload)


def test_kinds_of_quantities_are_known_from_version_6_on(outbox: Path) -> None:
    expected = {} if outbox_version_of(outbox) < 6 else {"temperature": "number"}
    store = open_outbox_store(outbox)
    assert store.kinds_of("line", "key_value") == expected
    store.close()


def outbox_version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT COUNT(*) FROM _sqlite_migrations")
    return int(found[0])


def session_of(path: Path) -> str:
    """Return the name of the session, without the address that version 1 stored after it."""
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT value FROM properties WHERE name = 'session'")
    name, _, _ = str(found[0]).partition("@")
    return name


def test_an_outbox_of_a_newer_version_is_refused_in_a_sentence_and_left_as_it_is(
    outbox: Path,
) -> None:
    with closing(sqlite3.connect(outbox)) as connection, connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) "
            "VALUES ('outbox', 'm900_from_the_future', 'then')"
        )
    before = outbox.read_bytes()
    with pytest.raises(QueueError, match=r"written by a newer version .*m900_from_the_future"):
        open_outbox_store(outbox)
    assert outbox.read_bytes() == before
    assert [path.name for path in outbox.parent.iterdir()] == ["outbox.db"]


START = """
import sys
from pathlib import Path
import firmware_bridge.main
import firmware_bridge.protocols.table
from firmware_bridge.outbox.recovery import open_outbox_store
open_outbox_store(Path(sys.argv[1])).close()
print([name for name in ("sqlite_utils", "pynmeagps", "pydantic") if name in sys.modules])
"""


def test_a_library_takes_memory_only_where_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    loaded = [
        subprocess.run(
            [sys.executable, "-c", START, path], capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert loaded == ["['sqlite_utils']", "[]"], "a new file is made, and then opened"
