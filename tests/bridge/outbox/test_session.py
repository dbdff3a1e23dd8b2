"""The name of the session in the outbox: kept, given up, or chosen at a start."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from firmware_bridge.outbox.session import Session
from firmware_bridge.outbox.store import OutboxStore

NAME = "bridge-0123abcd"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OutboxStore]:
    store = OutboxStore(tmp_path / "outbox.db")
    yield store
    store.close()


def kept(store: OutboxStore, name: str, machine: str) -> Session:
    store.begin()
    store.set_property("session", name)
    store.set_property("machine", machine)
    store.commit()
    return Session(store)


def test_a_name_is_written_once_and_an_old_one_not_again(store: OutboxStore) -> None:
    session = Session(store)
    assert (session.name, session.take_unwritten()) == (None, None)
    session.begin(NAME)
    assert (session.name, session.take_unwritten()) == (NAME, NAME)
    session.begin(NAME)
    assert session.take_unwritten() is None
    session.give_up()
    assert (session.name, session.take_unwritten()) == (None, "")


@pytest.mark.parametrize(
    ("client_id", "machine", "in_flight", "name"),
    [
        ("bridge", "a", 0, NAME),
        ("bridge", "a", 3, NAME),
        ("other", "a", 0, None),
        ("bridge", "b", 0, None),
        ("other", "a", 3, NAME),
        ("bridge", "b", 3, NAME),
    ],
)
def test_a_start_keeps_the_session_unless_leaving_it_costs_nothing(
    store: OutboxStore, client_id: str, machine: str, in_flight: int, name: str | None
) -> None:
    session = kept(store, NAME, "a")
    session.choose(client_id, machine, in_flight=in_flight)
    assert session.name == name
    assert Session(store).name == name
    assert store.property("machine") == ("a" if in_flight else machine)


def test_why_a_session_continues_is_logged(
    store: OutboxStore, caplog: pytest.LogCaptureFixture
) -> None:
    kept(store, NAME, "a").choose("bridge", "b", in_flight=3)
    assert "until its 3 readings in flight are acknowledged" in caplog.text
    assert "created on another machine" in caplog.text
