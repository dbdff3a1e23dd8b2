"""Metrics of commits: durations, bytes, and the histogram."""

from gateway.broker.core.recent import STEP_SECONDS, STEPS
from gateway.broker.server.commit.metrics import BOUNDS_MS, CommitMetrics


def test_without_commits_their_mean_is_nothing() -> None:
    assert CommitMetrics().mean_ms() == 0.0


def test_durations_and_bytes_are_summed_and_the_slowest_is_kept() -> None:
    metrics = CommitMetrics()
    for seconds, size_bytes in ((0.001, 100), (0.005, 0), (0.003, 50)):
        metrics.add(seconds, size_bytes)
    assert metrics.batches == 3
    assert metrics.blob_bytes == 150
    assert metrics.seconds_max == 0.005
    assert round(metrics.mean_ms(), 6) == 3.0


def test_the_longest_of_the_last_hour_is_forgotten_and_that_since_the_start_is_not() -> None:
    metrics = CommitMetrics()
    metrics.advance(0.0)
    metrics.add(3.0, 1)
    metrics.advance(STEP_SECONDS)
    metrics.add(0.5, 1)
    assert metrics.seconds_max_recent == 3.0
    metrics.advance(STEP_SECONDS * (STEPS + 1))
    assert (metrics.seconds_max_recent, metrics.seconds_max) == (0.5, 3.0)


def test_each_commit_is_in_one_class_of_the_histogram() -> None:
    metrics = CommitMetrics()
    for milliseconds in (0.05, 0.1, 0.3, 4.9, 5.0, 6.0, 10_000.0):
        metrics.add(milliseconds / 1000, 100)
    assert len(metrics.counts) == len(BOUNDS_MS) + 1
    found = {bound: count for bound, count in zip(BOUNDS_MS, metrics.counts, strict=False) if count}
    assert found == {0.1: 2, 0.5: 1, 5.0: 2, 10.0: 1}
    assert metrics.counts[-1] == 1
