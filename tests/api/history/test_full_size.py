"""The history at full size: 1,000 series over 31 days, in a process whose memory is measured."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from api.history.rings import MONTH
from tests.api.history.full_size import BACK_AT_MS, DAY_MS, END_MS, HOUR_MS, JUMP_AT_MS, JUMP_MS

SERIES = 1000
MEMORY_MIB_MAX = 60
STOP_MIB_MAX = 110
"""Memory at a stop, when the last hour of all series is copied, and at a start."""
HOUR_POINTS = 720
DISK_BYTES_MAX = 100_000_000
BYTES_A_DAY_MAX = 2_000_000
CHUNKS_A_DAY = 24 * 4 + 24
PAGE_BYTES = 4096


def run(what: str, directory: Path, series: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.api.history.full_size", what, str(directory)]
    done = subprocess.run([*command, "--series", str(series)], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_month_of_1000_series_has_its_bounds_and_survives_a_restart(tmp_path: Path) -> None:
    filled = run("fill", tmp_path, SERIES)
    disk_bytes = sum(file.stat().st_size for file in tmp_path.iterdir())
    read = run("read", tmp_path, SERIES)
    print({**filled, "curves": None}, {**read, "curves": None}, f"{disk_bytes:,} bytes on disk")
    assert filled["refused"] == 0
    assert filled["memory_mib"] <= MEMORY_MIB_MAX
    assert disk_bytes <= DISK_BYTES_MAX
    assert (read["series"], read["problem"]) == (SERIES, None)
    assert max(filled["stop_peak_mib"], read["memory_mib"]) <= STOP_MIB_MAX
    assert_same(read["curves"]["hour"], filled["curves"]["hour"][-HOUR_POINTS:])
    for ring in ("day", "month"):
        assert_same(read["curves"][ring], filled["curves"][ring])
    steps = [int(point[0]) for point in filled["curves"]["month"]]
    assert steps == sorted({*steps})
    times = [step * MONTH.step_ms for step in steps]
    assert times[0] <= END_MS - 31 * DAY_MS + HOUR_MS
    gap = [each for each in times if JUMP_AT_MS <= each < JUMP_AT_MS + JUMP_MS]
    assert gap == [], "the clock jumped over this time"
    assert len(times) >= 31 * DAY_MS // MONTH.step_ms - JUMP_MS // MONTH.step_ms - 1
    assert min(abs(each - BACK_AT_MS) for each in times) <= MONTH.step_ms


def assert_same(read: list[list[float]], filled: list[list[float]]) -> None:
    """Check that the points of a curve are as before the restart. A mean is rounded on disk."""
    assert [point[0] for point in read] == [point[0] for point in filled]
    for one, other in zip(read, filled, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.long
def test_a_day_of_50_series_writes_less_than_2_mb(tmp_path: Path) -> None:
    found = run("day", tmp_path, 50)
    print(found)
    # For each appended chunk the file system writes the file's last page again.
    assert found["bytes_written"] + CHUNKS_A_DAY * PAGE_BYTES < BYTES_A_DAY_MAX
