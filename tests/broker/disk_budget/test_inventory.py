"""The inventory finds the files that may be deleted, and no others."""

from pathlib import Path

from gateway.broker.disk_budget.budget import Kind, Rules, is_room_needed, removals_of
from gateway.broker.disk_budget.inventory import Inventory, disk_of, remove
from tests.process.files.listings import listings
from tests.process.files.many_segments import age, fill, name_of

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
    items = {item.path: item for item in Inventory(tmp_path).items(100)}
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
    assert Inventory(tmp_path).items(100) == []


def test_tables_outbox_journal_and_reserve_are_in_no_inventory(tmp_path: Path) -> None:
    for path in (
        "broker.db", "broker.db-wal", "broker.db-shm", "outbox.db", "outbox.db-wal", "gateway-id",
        "journal/0000000001.ogj", "journal/reserve", "log/chain.json",
        "log/open/00000001.jsonl.zst", "log/sealed/notes.txt", "uploaded/notes.txt",
        "broker.db.salvaged",
    ):  # fmt: skip
        put(tmp_path, path)
    assert Inventory(tmp_path).items(100) == []


def test_the_file_system_states_what_is_free(tmp_path: Path) -> None:
    disk = disk_of(tmp_path)
    assert 0 < disk.free_bytes <= disk.total_bytes


RULES = Rules(free_min=100, log_max=1 << 40, damaged_max=1 << 30, reserve=50)
PLENTY = 1 << 50


def test_a_look_at_thousands_of_segments_lists_only_the_folder_that_has_changed(
    tmp_path: Path,
) -> None:
    fill(tmp_path / "uploaded", range(100, 15_001, 100))
    fill(tmp_path / "log/sent", range(5_000, 15_001, 100))
    age(tmp_path)
    inventory = Inventory(tmp_path)
    items = inventory.totals()
    assert len(items) == 16 + 11
    assert sum(item.count for item in items) == 251
    fill(tmp_path / "uploaded", [15_001])
    with listings() as listed:
        assert sum(item.count for item in inventory.totals()) == 252
    segments = [folder for folder in listed if folder.name.endswith("___")]
    assert segments == [tmp_path / "uploaded/00015___"]


def test_the_oldest_go_one_by_one_and_the_rest_only_counts(tmp_path: Path) -> None:
    fill(tmp_path / "log/sent", range(900, 3_001))
    fill(tmp_path / "uploaded", range(900, 3_001))
    inventory = Inventory(tmp_path)
    rules = Rules(100, 1 << 40, 1 << 30, 50, log_files_max=4_000)
    assert is_room_needed(inventory.totals(), PLENTY, rules)
    items = inventory.items(150)
    assert sum(item.count for item in items) == 2 * 2_101
    single = [item for item in removals_of(items, PLENTY, rules) if item.count == 1]
    assert [item.path for item in single[:101]] == [
        *(f"log/sent/{name_of(number)}" for number in range(900, 1_000)),
        f"log/sent/00001___/{name_of(1_000)}",
    ]
    assert len(single) == 150


def test_more_segments_than_are_allowed_go_oldest_first_and_empty_folders_with_them(
    tmp_path: Path,
) -> None:
    fill(tmp_path / "uploaded", range(1_990, 2_101))
    inventory = Inventory(tmp_path)
    rules = Rules(100, 1 << 40, 1 << 30, 50, log_files_max=100)
    for item in removals_of(inventory.items(100), PLENTY, rules):
        assert item.count == 1
        remove(tmp_path, item)
    assert not is_room_needed(inventory.totals(), PLENTY, rules)
    left = sorted(path.name for path in (tmp_path / "uploaded").rglob("*.zst"))
    assert left == [name_of(number) for number in range(2_001, 2_101)]
    assert [path.name for path in (tmp_path / "uploaded").iterdir()] == ["00002___"]


def test_the_newest_segment_stays_however_many_there_are(tmp_path: Path) -> None:
    fill(tmp_path / "log/sealed", range(1, 5))
    rules = Rules(100, 0, 1 << 30, 50)
    removals = removals_of(Inventory(tmp_path).items(100), PLENTY, rules)
    assert [item.age for item in removals] == [1, 2, 3]


def test_nothing_goes_while_there_is_room(tmp_path: Path) -> None:
    fill(tmp_path / "log/sealed", range(1, 2_000, 9))
    inventory = Inventory(tmp_path)
    assert not is_room_needed(inventory.totals(), PLENTY, RULES)
    assert removals_of(inventory.items(100), PLENTY, RULES) == []
