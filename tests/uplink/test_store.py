"""The uplink's file: its rows after it is reopened."""

from pathlib import Path

from gateway.process.mqtt_client.exchanges import Exchange
from gateway.uplink.message import ROW_OVERHEAD_BYTES, Message
from gateway.uplink.routes import Side
from gateway.uplink.store import UplinkStore
from tests.uplink.bench import message

FULL = Message("topic/é", b"\x00payload", 1, True, b"\x03\x00\x01x", 12.5)


def committed(path: Path, *, target: Side = Side.REMOTE) -> UplinkStore:
    store = UplinkStore(path)
    store.begin()
    store.messages[target].insert([FULL, message("b")])
    store.note_received(target.other, [7, 8])
    store.set_property("session_local", "name")
    store.commit()
    return store


def test_a_message_is_read_as_it_was_written_and_on_its_own_side_only(tmp_path: Path) -> None:
    committed(tmp_path / "u.db").close()
    store = UplinkStore(tmp_path / "u.db")
    assert store.messages[Side.REMOTE].waiting(10) == [(1, FULL), (2, message("b"))]
    assert store.messages[Side.LOCAL].waiting(10) == []
    assert store.received(Side.LOCAL) == {7, 8}
    assert store.received(Side.REMOTE) == set()
    assert store.property("session_local") == "name"
    assert store.property("other") is None
    count, size_bytes = store.messages[Side.REMOTE].totals()
    assert count == 2
    assert size_bytes == FULL.bytes_count + message("b").bytes_count
    assert FULL.bytes_count == 7 + 8 + 4 + ROW_OVERHEAD_BYTES
    store.close()


def test_an_exchange_goes_through_its_states(tmp_path: Path) -> None:
    store = committed(tmp_path / "u.db")
    exchange = Exchange(1, 40, FULL)
    store.begin()
    store.messages[Side.REMOTE].start([exchange])
    store.messages[Side.REMOTE].release([exchange])
    store.commit()
    assert list(store.messages[Side.REMOTE].in_flight()) == [Exchange(1, 40, FULL, True)]
    assert store.messages[Side.REMOTE].waiting(10) == [(2, message("b"))]
    store.begin()
    store.messages[Side.REMOTE].return_to_queue([exchange])
    store.commit()
    assert [number for number, _ in store.messages[Side.REMOTE].waiting(10)] == [1, 2]
    store.begin()
    store.messages[Side.REMOTE].remove([1])
    store.free_received(Side.LOCAL, [7])
    store.commit()
    assert store.received(Side.LOCAL) == {8}
    store.begin()
    store.free_received(Side.LOCAL, None)
    store.commit()
    assert store.received(Side.LOCAL) == set()
    store.close()


def test_what_is_rolled_back_takes_no_numbers(tmp_path: Path) -> None:
    store = committed(tmp_path / "u.db")
    store.begin()
    store.messages[Side.REMOTE].insert([message("gone")])
    store.roll_back()
    store.begin()
    store.messages[Side.REMOTE].insert([message("c")])
    store.commit()
    assert [number for number, _ in store.messages[Side.REMOTE].waiting(10)] == [1, 2, 3]
    store.close()
