"""The duration of one fsync on a disk, measured as SQLite does it."""

from pathlib import Path

from gateway.tools.bench.fsync_probe import fsync_percentiles_ms


def test_an_fsync_takes_time_and_leaves_no_file(tmp_path: Path) -> None:
    figures = fsync_percentiles_ms(tmp_path, commits=20)
    assert 0 < figures["p50"] <= figures["max"]
    assert list(tmp_path.iterdir()) == []
