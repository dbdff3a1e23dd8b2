"""Damage to an outbox never prevents a start of the bridge."""

import json
import random
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.recovery import open_outbox_store
from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.readings.publications import Publication

from gateway.process.files.queue_opening import QueueError
from tests.process.files.wrong_bytes import with_wrong_bytes

COUNT = 2000
PAGE_BYTES = 4096
BOARDS = BoardRows(
    blocks=[((42, 1, 0), 0, bytes(range(1, 9)) * 5 + bytes(59 * 8), 1)],
    counts=[((42, 1), 1)],
    floors=[(43, (9, 2))],
)


def reading(number: int) -> Publication:
    record = {"n": f"d/{number}", "vs": "x" * 60, "device": "d", "boot": 1, "sequence": number}
    return Publication(f"sensors/d/{number}", json.dumps([record]).encode())


def payloads(store: OutboxStore) -> set[bytes]:
    return {each.payload for _, each in store.readings.waiting(10 * COUNT)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "outbox.db"
    store = OutboxStore(path)
    store.begin()
    store.readings.insert([reading(n) for n in range(COUNT)])
    store.save_boards(BOARDS)
    store.set_property("starts", "7")
    store.set_property("session", "bridge-0123abcd")
    store.commit()
    store.close()
    return path


def count_of(store: OutboxStore) -> int:
    return store.readings.totals()[0]


def topics(store: OutboxStore) -> list[str]:
    return [each.topic for _, each in store.readings.waiting(10 * COUNT)]


def kept_aside(path: Path) -> list[Path]:
    return list(path.parent.glob("outbox.db.damaged-*[0-9]"))


def with_everything_in_the_wal(path: Path) -> Path:
    """Return an outbox as a power cut leaves it before anything was copied from the WAL."""
    copy = path.with_name("copy") / path.name
    copy.parent.mkdir()
    store = OutboxStore(copy)
    store.begin()
    store.readings.insert([reading(n) for n in range(50)])
    store.commit()
    for suffix in ("", "-wal"):
        shutil.copy(copy.with_name(copy.name + suffix), path.with_name(path.name + suffix))
    store.close()
    return path


def test_a_sound_outbox_is_opened_as_it_is(path: Path) -> None:
    store = open_outbox_store(path)
    assert (count_of(store), store.readings.last_number) == (COUNT, COUNT)
    assert store.property("starts") == "7"
    store.close()


def test_a_file_that_is_no_database_is_set_aside_and_a_new_one_begun(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(b"rubbish" * 1000)
    store = open_outbox_store(path)
    assert count_of(store) == 0
    assert int(store.property("starts") or 0) >= 2**31, "above any count of starts"
    assert store.property("session") is None
    store.close()
    (aside,) = kept_aside(path)
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
    assert store.boards() == BOARDS
    store.close()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_of_an_outbox_that_was_cut_off_nearly_everything_before_the_cut_is_kept(
    path: Path, share: float
) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    store = open_outbox_store(path)
    # The pages of the other tables are at the start of the file.
    assert share - 0.12 < count_of(store) / COUNT <= share
    assert payloads(store) <= {reading(n).payload for n in range(COUNT)}, "none is torn"
    numbers = [int(topic.rpartition("/")[2]) for topic in topics(store)]
    assert numbers == sorted(set(numbers))
    store.close()


def test_a_salvaged_reading_is_retained_if_it_was_to_be(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    store = OutboxStore(path)
    store.begin()
    store.readings.insert([replace(reading(n), retain=n % 2 == 0) for n in range(COUNT)])
    store.commit()
    store.close()
    path.write_bytes(path.read_bytes()[: -PAGE_BYTES * 20])
    store = open_outbox_store(path)
    assert len(kept_aside(path)) == 1
    found = [each for _, each in store.readings.waiting(COUNT)]
    store.close()
    assert len(found) > COUNT / 2
    assert found == [replace(reading(n), retain=n % 2 == 0) for n in range(len(found))]


def test_a_wrong_byte_in_a_definition_costs_nothing(path: Path) -> None:
    whole = OutboxStore(path)
    expected, boards = payloads(whole), whole.boards()
    whole.close()
    for content in with_wrong_bytes(path, step=97):
        path.write_bytes(content)
        store = open_outbox_store(path)
        assert payloads(store) == expected
        assert store.boards() == boards
        store.close()


def test_a_salvaged_row_of_a_board_with_a_wrong_type_is_left_out(path: Path) -> None:
    """A wrong byte in the number of a root page can give a table the rows of another one."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema "
            "WHERE name = 'readings') WHERE name LIKE 'board_%'"
        )
    store = open_outbox_store(path)
    assert count_of(store) == COUNT
    assert store.boards() == BoardRows()
    store.close()


def test_readings_of_every_form_are_salvaged_and_torn_ones_are_not(tmp_path: Path) -> None:
    whole = [
        Publication("plant/boiler/temperature", b"21.5"),
        Publication("plant/boiler/state", "zündet".encode()),
        Publication("plant/boiler/json", b'{"value": 1}'),
        Publication("plant/boiler/senml", b'[{"device": "boiler"}]'),
    ]
    torn = [
        Publication("plant/boiler/value", b"21.\0\0"),
        Publication("plant/boiler/text", b"\xff\xfe"),
        Publication("plant/boiler/json", b'{"value": 1'),
        Publication("plant/boiler/senml", b'[{"device": "pump"}]'),
    ]
    path = tmp_path / "outbox.db"
    store = open_outbox_store(path)
    store.begin()
    store.readings.insert([*whole, *torn, *(reading(n) for n in range(COUNT))])
    store.commit()
    store.close()
    path.write_bytes(path.read_bytes()[: -PAGE_BYTES * 20])
    store = open_outbox_store(path)
    assert [each for _, each in store.readings.waiting(len(whole) + 1)] == [*whole, reading(0)]
    store.close()


def test_an_emptied_outbox_is_reported(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(b"")
    store = open_outbox_store(path)
    assert count_of(store) == 0
    assert int(store.property("starts") or 0) >= 2**31
    store.close()
    assert len(kept_aside(path)) == 1
    assert "the outbox was damaged" in caplog.text


def test_an_emptied_outbox_costs_nothing_while_its_wal_has_everything(path: Path) -> None:
    with_everything_in_the_wal(path).write_bytes(b"")
    store = open_outbox_store(path)
    assert topics(store) == [f"sensors/d/{n}" for n in range(50)]
    store.close()


def test_the_very_first_outbox_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_outbox_store(tmp_path / "outbox.db")
    # An earlier outbox may be lost without a trace. Its start numbers must not be used again.
    assert int(store.property("starts") or 0) >= 2**31
    store.close()
    assert [file.name for file in tmp_path.iterdir()] == ["outbox.db"]
    assert not caplog.text


def test_a_new_outbox_uses_no_start_number_again_whatever_the_clock_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 5.0)  # A board without a clock, just switched on.
    found = set()
    for _ in range(50):
        store = open_outbox_store(tmp_path / "outbox.db")
        found.add(int(store.property("starts") or 0))
        store.close()
        (tmp_path / "outbox.db").unlink()
    assert len(found) == 50
    assert all(2**31 <= number < 2**32 - 2**20 for number in found)


def test_a_salvaged_outbox_uses_no_start_number_again(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // PAGE_BYTES * PAGE_BYTES
    content[middle : middle + PAGE_BYTES] = bytes(PAGE_BYTES)
    path.write_bytes(content)
    store = open_outbox_store(path)
    assert int(store.property("starts") or 0) >= 2**31
    store.close()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_cut_off_zeroed_or_torn_what_is_readable_is_kept_in_order(
    path: Path, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311
    content = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(content)) // 512 * 512
        match dice.choice(("cut off", "page", "sector", "noise")):
            case "cut off":
                del content[max(at, 512) :]
            case "page":
                at -= at % PAGE_BYTES
                content[at : at + PAGE_BYTES] = bytes(len(content[at : at + PAGE_BYTES]))
            case "sector":
                content[at : at + 512] = bytes(len(content[at : at + 512]))
            case _:
                content[at : at + 512] = dice.randbytes(len(content[at : at + 512]))
    path.write_bytes(content)
    store = open_outbox_store(path)
    numbers = [int(topic.rpartition("/")[2]) for topic in topics(store) if topic.isascii()]
    assert numbers == sorted(set(numbers))
    is_reported = "the outbox was damaged" in caplog.text
    assert is_reported == bool(kept_aside(path))
    assert is_reported or len(numbers) == COUNT
    store.close()
    open_outbox_store(path).close()
    assert caplog.text.count("the outbox was damaged") == is_reported


@pytest.mark.parametrize("moved", [(), ("",), ("", "-wal")])
def test_a_replacement_that_was_cut_short_is_finished(path: Path, moved: tuple[str, ...]) -> None:
    made = path.with_name("outbox.db.salvaged")
    path.rename(made)
    with_everything_in_the_wal(path)
    for suffix in moved:
        path.with_name(path.name + suffix).unlink()
    # A replacement that was not completed.
    path.with_name("outbox.db.new").write_bytes(b"half")
    store = open_outbox_store(path)
    assert count_of(store) == COUNT
    assert not made.exists()
    store.close()


def test_an_outbox_that_cannot_be_made_is_one_line_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "outbox.db").mkdir()
    with pytest.raises(QueueError, match=r"cannot open the outbox .*; check the disk"):
        open_outbox_store(tmp_path / "outbox.db")
