"""What may go is found where it lies, and nothing else is named."""

from pathlib import Path

from gateway.space.budget import Kind
from gateway.space.inventory import disk_of, items_in, remove

HASH = "0" * 64


def put(data_dir: Path, path: str, size_bytes: int = 5_000) -> None:
    file = data_dir / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * size_bytes)


def segment(number: int) -> str:
    first = number * 100
    return f"gw-1.{'a' * 16}.{number:08d}.{first:012d}-{first + 99:012d}.{HASH}.jsonl.zst"


def test_what_may_go_is_found_with_its_events(tmp_path: Path) -> None:
    put(tmp_path, f"log/sent/{segment(1)}")
    put(tmp_path, f"log/sealed/{segment(3)}")
    put(tmp_path, f"uploaded/{segment(2)}")
    put(tmp_path, "log/damaged/chain.json")
    put(tmp_path, f"log/damaged/{segment(4)}")
    put(tmp_path, "damaged/20261122T000000Z/broker.db", 9_000)
    put(tmp_path, "outbox.db.damaged-20261122")
    put(tmp_path, "journal/spare")
    items = {item.path: item for item in items_in(tmp_path)}
    kinds = {path: item.kind for path, item in items.items()}
    assert kinds == {
        f"log/sent/{segment(1)}": Kind.SENT,
        f"log/sealed/{segment(3)}": Kind.SEGMENT,
        f"uploaded/{segment(2)}": Kind.SEGMENT,
        "log/damaged/chain.json": Kind.DAMAGED,
        f"log/damaged/{segment(4)}": Kind.SEGMENT,
        "damaged/20261122T000000Z": Kind.DAMAGED,
        "outbox.db.damaged-20261122": Kind.DAMAGED,
        "journal/spare": Kind.SPARE,
    }
    sealed = items[f"log/sealed/{segment(3)}"]
    assert (sealed.age, sealed.first_sequence, sealed.last_sequence) == (3, 300, 399)
    assert sealed.size_bytes >= 5_000
    assert items["damaged/20261122T000000Z"].size_bytes >= 9_000
    for item in items.values():
        assert remove(tmp_path, item)
        assert not remove(tmp_path, item)
    assert items_in(tmp_path) == []


def test_tables_outbox_journal_and_reserve_are_in_no_inventory(tmp_path: Path) -> None:
    for path in (
        "broker.db", "broker.db-wal", "broker.db-shm", "outbox.db", "outbox.db-wal", "gateway-id",
        "journal/0000000001.ogj", "journal/reserve", "log/chain.json",
        "log/open/00000001.jsonl.zst", "log/sealed/notes.txt", "uploaded/notes.txt",
        "broker.db.salvaged",
    ):  # fmt: skip
        put(tmp_path, path)
    assert items_in(tmp_path) == []


def test_the_file_system_states_what_is_free(tmp_path: Path) -> None:
    disk = disk_of(tmp_path)
    assert 0 < disk.free_bytes <= disk.total_bytes
