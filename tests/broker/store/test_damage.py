"""A damaged store never prevents a start: it is set aside, salvaged and reported."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store.database import DAMAGED_FOLDER, DATABASE_NAME
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness, payloads
from tests.broker.store.data_directories import make_state
from tests.broker.store.journal_damage import frames_in, overwrite, take_newest_for_unfinished
from tests.process.files.wrong_bytes import with_wrong_bytes


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database" * 100)


def bad_page(path: Path) -> None:
    overwrite(path, path.stat().st_size // 2, b"\xff" * 4096)


@pytest.mark.parametrize("damage", [zeroed, truncated, garbage, bad_page])
def test_the_broker_starts_on_a_damaged_database_keeps_the_file_and_reports_it(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    make_state(tmp_path)
    damage(tmp_path / DATABASE_NAME)
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert "database damaged" in harness.damage[0]
    kept = list((tmp_path / DAMAGED_FOLDER).glob("*/" + DATABASE_NAME))
    assert len(kept) == 1
    # The broker works normally.
    subscriber = harness.subscriber("new", "t", 1)
    harness.connect("q", clean=True).send(Publish("t", b"after", 1, False, False, 1))
    harness.commit()
    assert payloads(subscriber.take()) == [b"after"]
    harness.cut()
    assert "new" in harness.broker.state.sessions
    harness.close()


def test_an_empty_database_file_is_a_new_database(tmp_path: Path) -> None:
    empty(tmp_path / DATABASE_NAME)
    harness = Harness(tmp_path)
    harness.connect("c")
    harness.close()


def test_what_can_be_read_of_a_damaged_database_is_kept(tmp_path: Path) -> None:
    make_state(tmp_path)
    path = tmp_path / DATABASE_NAME
    with closing(sqlite3.connect(path)) as connection:
        root = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'queue_message'"
        ).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    overwrite(path, (root - 1) * size, b"\xff" * size)
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert harness.session("s").queued_count == 200
    assert "kept" in harness.broker.state.retained
    seen = payloads(harness.connect("s").take())
    assert seen[0] == b"0" + b"x" * 200
    harness.close()


def test_a_wrong_byte_in_a_definition_costs_nothing(tmp_path: Path) -> None:
    made, damaged = tmp_path / "made", tmp_path / "damaged"
    make_state(made)
    for file in (made / "journal").iterdir():
        file.unlink()  # else everything is recovered from the journal
    with closing(sqlite3.connect(made / DATABASE_NAME)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for content in with_wrong_bytes(made / DATABASE_NAME, step=61):
        shutil.copytree(made, damaged)
        (damaged / DATABASE_NAME).write_bytes(content)
        harness = Harness(damaged)
        assert harness.recovery is StartKind.SALVAGED
        assert harness.session("s").queued_count == 200
        assert "kept" in harness.broker.state.retained
        harness.close()
        shutil.rmtree(damaged)


def test_a_torn_journal_keeps_every_commit_before_the_tear(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.connect("before")
    harness.connect("after")
    harness.close()
    take_newest_for_unfinished(tmp_path)
    path, offset, length = frames_in(tmp_path)[-1]
    with path.open("r+b") as file:
        file.truncate(offset + length // 2)
    again = Harness(tmp_path)
    assert again.recovery is StartKind.UNCLEAN
    assert set(again.broker.state.sessions) == {"before"}
    again.close()


def test_a_damaged_blob_is_reported_and_the_others_count(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    for name in ("a", "b", "c"):
        harness.connect(name)
    harness.close()
    path, offset, length = frames_in(tmp_path)[1]
    overwrite(path, offset, bytes(length))
    again = Harness(tmp_path)
    assert again.recovery is StartKind.SALVAGED
    assert len(again.damage) == 1
    assert set(again.broker.state.sessions) == {"a", "c"} or set(again.broker.state.sessions) == {
        "b",
        "c",
    }
    again.close()
