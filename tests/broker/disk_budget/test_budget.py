"""The files that the broker deletes first when the disk runs short."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.disk_budget.budget import MIB, Item, Kind, Limits, Rules, removals_of

RULES = Rules(free_min=100, log_max=10_000, damaged_max=1_000, reserve=50)
PLENTY = 10**9


def item(kind: Kind, age: int, size_bytes: int = 100) -> Item:
    has_events = kind in (Kind.SENT, Kind.SEGMENT, Kind.JOURNAL)
    first = age * 10 if has_events else 0
    last = first + 9 if has_events else 0
    return Item(kind, f"{kind.name}/{age}", size_bytes, age, first, last)


ITEMS = st.lists(
    st.builds(item, st.sampled_from(Kind), st.integers(1, 1_000), st.integers(0, 5_000)),
    unique_by=lambda each: each.path,
    max_size=40,
)


def paths(items: list[Item]) -> list[str]:
    return [each.path for each in items]


def test_nothing_goes_while_there_is_room() -> None:
    items = [item(kind, age) for kind in Kind for age in (1, 2, 3)]
    assert removals_of(items, PLENTY, RULES) == []


def test_copies_go_first_then_damage_then_the_spare_then_the_oldest_of_the_log() -> None:
    items = [item(kind, age) for age in (2, 1, 3) for kind in reversed(Kind)]
    assert paths(removals_of(items, -10_000, RULES)) == [
        "SENT/1", "SENT/2", "SENT/3",
        "DAMAGED/1", "DAMAGED/2", "DAMAGED/3",
        "SPARE/1", "SPARE/2", "SPARE/3",
        "SEGMENT/1", "SEGMENT/2",
        "JOURNAL/1", "JOURNAL/2", "JOURNAL/3",
    ]  # fmt: skip


def test_no_more_goes_than_is_needed() -> None:
    items = [item(Kind.SENT, age) for age in range(1, 10)]
    free_bytes = RULES.removal_below_bytes - 250
    assert paths(removals_of(items, free_bytes, RULES)) == ["SENT/1", "SENT/2", "SENT/3"]


def test_the_log_keeps_to_its_size_whatever_is_free_copies_first() -> None:
    items = [item(Kind.SEGMENT, age, 3_000) for age in (1, 2, 3, 4)]
    assert paths(removals_of(items, PLENTY, RULES)) == ["SEGMENT/1"]
    items.append(item(Kind.SENT, 9, 1_000))
    assert paths(removals_of(items, PLENTY, RULES)) == ["SENT/9", "SEGMENT/1"]


def test_what_is_damaged_keeps_to_its_size() -> None:
    items = [item(Kind.DAMAGED, age, 400) for age in (5, 3, 4)]
    assert paths(removals_of(items, PLENTY, RULES)) == ["DAMAGED/3"]


def test_the_newest_segment_stays_for_the_next_one_to_name() -> None:
    assert removals_of([item(Kind.SEGMENT, 7, 50_000)], 0, RULES) == []


def test_the_defaults_fit_a_card_and_a_small_directory() -> None:
    card = Limits().of_disk(16_000 * MIB)
    assert (card.free_min, card.log_max) == (128 * MIB, 8_000 * MIB)
    assert (card.damaged_max, card.reserve) == (256 * MIB, 4 * MIB)
    small = Limits().of_disk(4 * MIB)
    assert small.free_min + small.reserve <= MIB
    assert Limits(0, 1, 2, 3).of_disk(4 * MIB) == Rules(0, 1, 2, 3)


def test_nothing_new_is_taken_below_the_floor_until_there_is_half_as_much_again() -> None:
    assert not RULES.is_full(100, was_full=False)
    assert RULES.is_full(99, was_full=False)
    assert RULES.is_full(149, was_full=True)
    assert not RULES.is_full(150, was_full=True)


@given(items=ITEMS, free_bytes=st.integers(-20_000, 20_000))
def test_what_goes_keeps_the_order_and_is_enough_or_all_there_is(
    items: list[Item], free_bytes: int
) -> None:
    removals = removals_of(items, free_bytes, RULES)
    assert len(set(removals)) == len(removals)
    assert set(removals) <= set(items)
    assert all((one.kind, one.age) <= (other.kind, other.age) for one, other in pairwise(removals))
    kept = [each for each in items if each not in removals]
    newest = max((each.last_sequence for each in items if each.kind == Kind.SEGMENT), default=0)
    is_last_word = [
        each for each in kept if not (each.kind == Kind.SEGMENT and each.last_sequence == newest)
    ]
    made = free_bytes + sum(each.size_bytes for each in removals)
    assert made >= RULES.removal_below_bytes or not is_last_word
    log_bytes = sum(each.size_bytes for each in kept if each.kind in (Kind.SENT, Kind.SEGMENT))
    log_left = [each for each in is_last_word if each.kind in (Kind.SENT, Kind.SEGMENT)]
    assert log_bytes <= RULES.log_max or not log_left
    # If space was needed, no file that should have gone first is left.
    if removals and free_bytes < RULES.removal_below_bytes:
        assert removals_of(kept, made, RULES) == []


def test_several_brokers_have_a_part_of_the_disk_each_and_one_floor() -> None:
    alone, one_of_four = (Limits(brokers_count=count).of_disk(1 << 30) for count in (1, 4))
    assert 4 * one_of_four.log_max == alone.log_max
    assert 4 * one_of_four.damaged_max == alone.damaged_max
    assert one_of_four.free_min == alone.free_min
    assert Limits(log_max=MIB, brokers_count=4).of_disk(1 << 30).log_max == MIB, "as configured"
