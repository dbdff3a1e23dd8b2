"""Damage is reported as a number of messages and the sessions that may lack them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.broker.store.database import DATABASE_NAME
from gateway.broker.store.lost_messages import SESSIONS_NAMED_MAX
from gateway.broker.wire.packets import Puback, Publish, Pubrel
from tests.broker.core.harness import Harness
from tests.broker.store.data_directories import make_state
from tests.broker.store.journal_damage import flip, frames_in

QUEUED = 400


def frame_with(data_dir: Path, wanted: bytes) -> tuple[Path, int]:
    """Return the file of the first batch with these bytes, and an offset inside the batch."""
    for path, offset, length in frames_in(data_dir):
        if wanted in path.read_bytes()[offset : offset + length]:
            return path, offset + length // 2
    raise AssertionError(f"no batch has {wanted!r}")


def queue_for(data_dir: Path, *names: str, checkpoint: bool = False) -> None:
    harness = Harness(data_dir)
    for name in names:
        harness.lose(harness.subscriber(name, "t", 1))
        harness.commit()
    if checkpoint:
        harness.checkpoint()
    publisher = harness.connect("p", clean=True)
    for number in range(QUEUED):
        publisher.send(Publish("t", b"%d" % number, 1, False, False, number + 1))
        if number % 10 == 9:
            harness.commit()
    harness.close()


def test_a_session_whose_first_batch_is_damaged_is_named_with_its_messages(tmp_path: Path) -> None:
    queue_for(tmp_path, "archive", "other")
    flip(*frame_with(tmp_path, b"archive"))
    again = Harness(tmp_path)
    assert "lost: 400 messages queued for client 'archive': its session cannot be read" in (
        again.damage
    )
    assert not [each for each in again.damage if "'other'" in each]
    assert again.session("other").queued_count == QUEUED
    again.commit()
    taken = again.connect("new").connection.session
    assert taken is not None
    again.cut()
    assert again.damage == [], "once is enough"
    assert set(again.broker.state.sessions) == {"other", "new"}
    again.close()


def test_what_was_delivered_to_that_session_is_not_counted(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    subscriber = harness.subscriber("archive", "t", 1)
    publisher = harness.connect("p", clean=True)
    for number in range(5):
        publisher.send(Publish("t", b"%d" % number, 1, False, False, number + 1))
        harness.commit()
    for packet_id in (1, 2):
        subscriber.send(Puback(packet_id))
    harness.commit()
    harness.lose(subscriber)
    harness.commit()
    publisher.send(Publish("t", b"last", 1, False, False, 9))
    harness.commit()
    harness.close()
    flip(*frame_with(tmp_path, b"archive"))
    again = Harness(tmp_path)
    assert any("lost: 4 messages queued for client 'archive'" in each for each in again.damage)
    again.close()


def test_a_damaged_batch_of_messages_is_reported_in_messages(tmp_path: Path) -> None:
    queue_for(tmp_path, "archive", checkpoint=True)
    path, offset, length = frames_in(tmp_path)[-5]
    flip(path, offset + length // 2)
    again = Harness(tmp_path)
    assert "lost: up to 10 messages queued for client 'archive'" in again.damage
    again.close()


def cut_end(data_dir: Path, batches: int) -> None:
    """Remove the newest batches from the newest file."""
    path, offset, _ = frames_in(data_dir)[-batches]
    with path.open("r+b") as file:
        file.truncate(offset)


def test_a_missing_end_is_reported_in_messages_with_the_sessions_that_may_lack_them(
    tmp_path: Path,
) -> None:
    queue_for(tmp_path, "archive", "other")
    cut_end(tmp_path, 3)
    again = Harness(tmp_path)
    assert (
        "lost with the end of the journal: up to 30 messages for or from the sessions 'archive', "
        "'other', or sessions opened then"
    ) in again.damage
    assert again.session("archive").queued_count == QUEUED - 30
    again.commit()
    again.cut()
    assert again.damage == []
    again.close()


def test_of_many_sessions_that_may_lack_messages_some_are_named(tmp_path: Path) -> None:
    queue_for(tmp_path, *(f"client {number:02}" for number in range(SESSIONS_NAMED_MAX + 5)))
    cut_end(tmp_path, 1)
    again = Harness(tmp_path)
    (lost,) = [each for each in again.damage if each.startswith("lost with")]
    assert "up to 10 messages" in lost
    assert "'client 00'" in lost
    assert "'client 09', 5 more, or sessions opened then" in lost
    again.close()


def test_a_missing_end_without_messages_lost_none(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.lose(harness.subscriber("archive", "t", 1))
    harness.commit()
    harness.lose(harness.subscriber("later", "t", 1))
    harness.commit()
    harness.close()
    cut_end(tmp_path, 1)
    again = Harness(tmp_path)
    assert "lost with the end of the journal: no messages" in again.damage
    again.close()


def test_a_release_that_is_lost_with_the_end_counts_as_a_message(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.lose(harness.subscriber("archive", "t", 2))
    publisher = harness.connect("p")
    publisher.send(Publish("t", b"held", 2, False, False, 1))
    harness.commit()
    publisher.send(Pubrel(1))
    harness.commit()
    harness.close()
    cut_end(tmp_path, 1)
    again = Harness(tmp_path)
    assert (
        "lost with the end of the journal: up to 1 message for or from the sessions 'archive', "
        "'p', or sessions opened then"
    ) in again.damage
    again.close()


def test_only_the_sessions_that_lost_most_are_named(tmp_path: Path) -> None:
    names = [f"client {number}" for number in range(SESSIONS_NAMED_MAX + 5)]
    queue_for(tmp_path, *names)
    for name in names:
        flip(*frame_with(tmp_path, name.encode()))
    again = Harness(tmp_path)
    lost = [each for each in again.damage if each.startswith("lost: ")]
    assert len(lost) == SESSIONS_NAMED_MAX + 1
    assert lost[-1] == f"lost: {5 * QUEUED} messages of 5 more sessions"
    again.close()


def test_rows_that_a_salvage_lost_are_reported_in_messages(tmp_path: Path) -> None:
    make_state(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME, isolation_level=None)) as connection:
        connection.execute("DELETE FROM messages WHERE number IN (3, 4, 5)")
        connection.execute("DELETE FROM queue WHERE position IN (100, 101)")
        connection.execute("DELETE FROM messages WHERE topic = 'kept'")
    path, offset, length = frames_in(tmp_path)[-1]
    flip(path, offset + length // 2)
    again = Harness(tmp_path)
    assert any("lost: 5 messages queued for client 's'" in each for each in again.damage)
    assert "lost: the contents of 1 retained messages" in again.damage
    again.close()


def test_queued_messages_whose_session_a_salvage_lost_are_counted(tmp_path: Path) -> None:
    make_state(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME, isolation_level=None)) as connection:
        connection.execute("DELETE FROM sessions")
    (tmp_path / "broker.reached").write_bytes(b"damaged")
    again = Harness(tmp_path)
    assert (
        "lost: 200 messages queued for a client whose id is lost: its session cannot be read"
        in again.damage
    )
    again.close()
