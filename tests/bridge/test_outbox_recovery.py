"""A damaged outbox never keeps the bridge from starting."""

import time
from pathlib import Path

import pytest
from firmware_bridge.outbox_recovery import OutboxError, open_outbox_store
from firmware_bridge.outbox_store import OutboxStore
from firmware_bridge.publications import Publication

COUNT = 2000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "outbox.db"
    store = OutboxStore(path)
    store.begin()
    store.insert([Publication(f"sensors/d/{n}", b"x" * 100) for n in range(COUNT)])
    store.save_boards([(42, 1, "1-5", 1)])
    store.set_property("starts", "7")
    store.set_property("session", "bridge@broker")
    store.commit()
    store.close()
    return path


def topics(store: OutboxStore) -> list[str]:
    return [topic for _, topic, _ in store.waiting_after(0, 10 * COUNT)]


def test_a_sound_outbox_is_opened_as_it_is(path: Path) -> None:
    store = open_outbox_store(path)
    assert (store.count, store.last_number) == (COUNT, COUNT)
    assert store.property("starts") == "7"
    store.close()


def test_a_file_that_is_no_database_is_set_aside_and_a_new_one_begun(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(b"rubbish" * 1000)
    store = open_outbox_store(path)
    assert store.count == 0
    assert int(store.property("starts") or 0) >= int(time.time()) - 60, "above any count of starts"
    assert store.property("session") is None
    store.close()
    (aside,) = path.parent.glob("outbox.db.damaged-*[0-9]")
    assert aside.read_bytes().startswith(b"rubbish")
    assert "the outbox was damaged" in caplog.text


def test_readings_before_and_behind_a_broken_page_are_salvaged_in_order(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    store = open_outbox_store(path)
    found = [int(topic.rpartition("/")[2]) for topic in topics(store)]
    assert found == sorted(set(found))
    assert found[0] == 0
    assert found[-1] == COUNT - 1
    assert COUNT - 100 < len(found) < COUNT
    assert store.boards() == [(42, 1, "1-5")]
    store.close()


def test_an_outbox_that_cannot_be_made_is_one_line_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "outbox.db").mkdir()
    with pytest.raises(OutboxError, match=r"cannot open the outbox .*; check the disk"):
        open_outbox_store(tmp_path / "outbox.db")
