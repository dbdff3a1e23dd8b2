"""The outbox on disk: committed rows are read again after it is reopened."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from firmware_bridge.outbox.boards import Boards
from firmware_bridge.outbox.store import (
    KINDS_REMEMBERED_MAX,
    KINDS_STORED_MAX,
    OutboxStore,
)
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.readings.publications import Publication

from gateway.process.mqtt_client.exchanges import Exchange
from tests.bridge.outbox.test_boards import Disk, digest_of


def test_the_outbox_gives_back_the_rows_that_it_was_given(tmp_path: Path) -> None:
    store = OutboxStore(tmp_path / "outbox.db")
    boards, disk = Boards(), Disk()
    for sequence in range(1, 1500):
        for device in (1, 2**32 - 1):
            contents = "again" if sequence > 1400 else "first"
            number = sequence - 1400 if sequence > 1400 else sequence
            identity, digest = BoardIdentity(device, 2**32 - 1, number), digest_of(contents)
            boards.accept(boards.place(identity, digest, "a"), identity, digest, "a")
        if sequence % 100 == 0:
            changes = boards.take_changes()
            disk.save(changes)
            store.begin()
            store.save_boards(changes)
            store.commit()
    assert store.boards() == disk.rows()
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OutboxStore]:
    store = OutboxStore(tmp_path / "outbox.db")
    yield store
    store.close()


def reading(name: str) -> Publication:
    return Publication(f"sensors/d/{name}", name.encode())


def test_what_was_committed_is_there_again_in_order_with_its_exchanges(tmp_path: Path) -> None:
    store = OutboxStore(tmp_path / "outbox.db")
    store.begin()
    kept = replace(reading("b"), retain=True)
    store.readings.insert([reading("a"), kept, reading("c"), reading("d")])
    first, second = Exchange(1, 7, reading("a")), Exchange(2, 9, kept)
    store.readings.start([first, second])
    store.readings.release([second])
    store.commit()
    store.close()
    again = OutboxStore(tmp_path / "outbox.db")
    assert again.readings.last_number == 4
    assert again.readings.totals() == (4, 4 * reading("a").bytes_count)
    assert list(again.readings.in_flight()) == [first, replace(second, released=True)]
    assert again.readings.waiting(1, after=2) == [(3, reading("c"))]
    again.begin()
    again.readings.remove([second.number])
    again.readings.return_to_queue([first])
    again.commit()
    assert list(again.readings.in_flight()) == []
    assert [each.payload for _, each in again.readings.waiting(9)] == [b"a", b"c", b"d"]
    again.close()


def test_a_salvaged_reading_keeps_its_number_and_takes_no_other_s_place(
    store: OutboxStore,
) -> None:
    store.begin()
    assert store.readings.restore(5, reading("a"))
    assert not store.readings.restore(5, reading("b"))
    store.commit()
    assert store.readings.waiting(9) == [(5, reading("a"))]


def test_a_property_has_the_value_that_was_set_last(store: OutboxStore) -> None:
    assert store.property("session") is None
    store.begin()
    store.set_property("session", "a")
    store.set_property("session", "b")
    store.commit()
    assert store.property("session") == "b"


def test_the_newest_kinds_of_quantities_are_loaded_and_the_oldest_rows_go(
    store: OutboxStore,
) -> None:
    store.begin()
    store.save_kinds([("old", "json", "t", "text")])
    names = [f"x{number}" for number in range(KINDS_REMEMBERED_MAX + 1)]
    for port in range(KINDS_STORED_MAX // len(names) + 1):
        store.save_kinds([(f"p{port}", "json", name, "number") for name in names])
    store.save_kinds([("p1", "json", "x0", "boolean")])
    store.commit()
    assert store.kinds_of("old", "json") == {}
    found = store.kinds_of("p1", "json")
    assert found == {"x0": "boolean", **dict.fromkeys(names[2:], "number")}
    assert store.kinds_of("p1", "csv") == {}
