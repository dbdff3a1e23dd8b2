"""What is measured of commits."""

from gateway.server.commit.metrics import CommitMetrics


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
