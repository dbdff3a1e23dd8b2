"""Outboxes of each format, with which the present bridge continues exactly."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from firmware_bridge.outbox.boards import Boards
from firmware_bridge.outbox.formats import MIGRATIONS_KNOWN
from firmware_bridge.outbox.recovery import open_outbox_store
from firmware_bridge.readings.numbering import BoardIdentity

from gateway.process.files.queue_opening import QueueError
from tests.bridge.golden.make_outbox import frame_of
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


def test_what_was_to_be_retained_still_is(outbox: Path) -> None:
    store = open_outbox_store(outbox)
    found = [each.message for each in store.readings.in_flight()]
    found += [each for _, each in store.readings.waiting(40, after=16)]
    store.close()
    assert len(found) == 39
    for each in found:
        assert each.retain == (b'"device":"kettle"' in each.payload)


def test_kinds_of_quantities_are_known(outbox: Path) -> None:
    store = open_outbox_store(outbox)
    assert store.kinds_of("line", "key_value") == {"temperature": "number"}
    store.close()


def test_boards_are_known(outbox: Path) -> None:
    store = open_outbox_store(outbox)
    boards = Boards(store.boards())
    store.close()
    digest = frame_of(10).contents_digest()
    assert not boards.place(BoardIdentity(43, 7, 10), digest, "port").is_new
    assert boards.place(BoardIdentity(43, 7, 11), digest, "port").is_new


def test_the_newest_version_is_among_them() -> None:
    assert GOLDEN[-1].name == f"outbox-{len(MIGRATIONS_KNOWN)}.db"


def session_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT value FROM properties WHERE name = 'session'")
    return str(found[0])


REFUSALS = {
    "newer": (
        "INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('outbox', 'm900_future')",
        "by a newer version of the bridge",
        "found m001_outbox, m900_future, expected m001_outbox",
        "install that version again",
    ),
    "older": (
        "UPDATE _sqlite_migrations SET name = 'm001_readings_boards_properties'",
        "by a development version before 0.1.0",
        "found m001_readings_boards_properties, expected m001_outbox",
        "move the file away when that version has delivered its readings, or delete it",
    ),
}


@pytest.mark.parametrize(
    ("statement", "writer", "formats", "fix"), REFUSALS.values(), ids=list(REFUSALS)
)
def test_an_outbox_of_another_version_is_refused_in_a_sentence_and_left_as_it_is(
    outbox: Path, statement: str, writer: str, formats: str, fix: str
) -> None:
    with closing(sqlite3.connect(outbox)) as connection, connection:
        connection.execute(statement)
    before = outbox.read_bytes()
    with pytest.raises(QueueError) as error:
        open_outbox_store(outbox)
    assert str(error.value) == (
        f"the outbox {outbox} was written {writer}: its format is not supported ({formats}); "
        f"nothing was changed; {fix}"
    )
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
