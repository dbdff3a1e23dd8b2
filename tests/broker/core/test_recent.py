"""Counters for the last hour: what is counted, what expires, and how much memory they use."""

from gateway.broker.core.recent import ENTRIES_MAX, STEP_SECONDS, STEPS, RecentCounts

HOUR_SECONDS = 3600.0


def test_what_happened_is_counted_for_an_hour_and_then_forgotten() -> None:
    counts = RecentCounts()
    counts.advance(0.0)
    counts.add("queue_full", "attic", "anna", "t/1")
    counts.add("queue_full", "attic", "anna", "t/2")
    for second in range(0, int(HOUR_SECONDS), 60):
        counts.advance(float(second))
        assert counts.total() == 2, second
    (entry,) = counts.largest(10)
    assert (entry.reason, entry.client_id, entry.username) == ("queue_full", "attic", "anna")
    assert (entry.topic, entry.count.value()) == ("t/2", 2)
    counts.advance(STEP_SECONDS * (STEPS + 1))
    assert counts.total() == 0
    assert counts.largest(10) == []


def test_what_is_new_stays_when_what_is_old_is_forgotten() -> None:
    counts = RecentCounts()
    counts.advance(0.0)
    counts.add("a", "c", None, None)
    counts.advance(HOUR_SECONDS / 2)
    counts.add("a", "c", None, None)
    counts.advance(STEP_SECONDS * (STEPS + 1))
    assert counts.total() == 1
    assert counts.largest(10)[0].count.value() == 1


def test_a_standstill_of_days_forgets_everything_in_one_step() -> None:
    counts = RecentCounts()
    counts.advance(0.0)
    counts.add("a", "c", None, None)
    counts.advance(1e9)
    assert (counts.total(), counts.largest(10)) == (0, [])


def test_the_highest_counts_come_first() -> None:
    counts = RecentCounts()
    for client_id, times in (("a", 1), ("b", 3), ("c", 2)):
        for _ in range(times):
            counts.add("queue_full", client_id, None, None)
    assert [each.client_id for each in counts.largest(2)] == ["b", "c"]


def test_a_flood_of_clients_is_in_the_sum_and_takes_bounded_memory() -> None:
    counts = RecentCounts()
    for number in range(ENTRIES_MAX + 7):
        counts.add("a", str(number), None, "x" * 65_535)
    assert counts.total() == ENTRIES_MAX + 7
    kept = counts.largest(2 * ENTRIES_MAX)
    assert len(kept) == ENTRIES_MAX
    assert len(kept[0].topic or "") == 200
