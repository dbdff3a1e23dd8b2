"""The history's three rings: over restarts, with a wrong clock, with a disk that refuses writes."""

import os
from math import sin
from pathlib import Path

import pytest

from api import limits
from api.history.history import History, Reading
from api.history.rings import DAY, HOUR, MONTH, Ring

NOW_MS = 1_795_252_500_000 // 3_600_000 * 3_600_000
NAME = "sensors/board/temperature"
DAY_MS = 86_400_000


def reading(time_ms: int, value: float, name: str = NAME) -> Reading:
    return Reading(name, "Cel", time_ms, 1, value, value, value, value)


async def opened(directory: Path | None) -> History:
    history = History(directory)
    await history.open()
    return history


async def record(history: History, *, from_ms: int, seconds: int, every: int = 5) -> int:
    """Record a reading every `every` seconds, and return the time of the last one."""
    time_ms = from_ms
    for time_ms in range(from_ms, from_ms + 1000 * seconds, 1000 * every):
        history.add(time_ms, [reading(time_ms, float(time_ms // 1000 % 60))])
        await history.save()
    return time_ms


async def times_of(history: History, ring: Ring, *, hours: float = 24 * 31) -> list[int]:
    from_ms = history.now_ms - int(3_600_000 * hours)
    curve = await history.curve(NAME, ring, from_ms=from_ms, to_ms=history.now_ms)
    return [point.step * ring.step_ms for point in curve.points]


def damage_all(directory: Path) -> None:
    for file in directory.iterdir():
        content = bytearray(file.read_bytes())
        content[len(content) // 3] ^= 0xFF
        file.write_bytes(content + os.urandom(50) + b"OGH1" + os.urandom(50))


async def test_each_ring_has_lowest_mean_highest_and_last(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    now_ms = await record(history, from_ms=NOW_MS, seconds=7200)
    hour = await history.curve(NAME, HOUR, from_ms=0, to_ms=now_ms)
    assert {point.low == point.mean == point.high for point in hour.points} == {True}
    assert 720 <= len(hour.points) <= 760
    for ring, count in ((DAY, 120), (MONTH, 8)):
        curve = await history.curve(NAME, ring, from_ms=0, to_ms=now_ms)
        assert [point[1:] for point in curve.points] == [(0.0, 27.5, 55.0, 55.0)] * count
        assert curve.unit == "Cel"
    await history.close()


async def test_a_stop_and_a_start_leave_every_ring_as_it_was(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    now_ms = await record(history, from_ms=NOW_MS, seconds=5400)
    before = [await times_of(history, ring) for ring in (HOUR, DAY, MONTH)]
    await history.close()
    again = await opened(tmp_path)
    again.add(now_ms + 5000, [reading(now_ms + 5000, 1.0)])
    assert (await times_of(again, HOUR))[:-1] == [t for t in before[0] if t > now_ms - 3_600_000]
    assert (await times_of(again, DAY))[: len(before[1])] == before[1]
    assert (await times_of(again, MONTH))[: len(before[2])] == before[2]
    assert again.names() == {NAME: "Cel"}
    await again.close()


async def test_the_hour_survives_many_restarts(tmp_path: Path) -> None:
    now_ms = NOW_MS
    for _ in range(4):
        history = await opened(tmp_path)
        now_ms = await record(history, from_ms=now_ms + 5000, seconds=600)
        await history.close()
    again = await opened(tmp_path)
    again.add(now_ms, [])
    assert await times_of(again, HOUR) == list(range(NOW_MS + 5000, now_ms + 1, 5000))
    whole_minutes = list(range(NOW_MS, now_ms // 60_000 * 60_000, 60_000))
    assert (await times_of(again, DAY))[: len(whole_minutes)] == whole_minutes
    await again.close()


async def test_without_a_stop_a_quarter_of_an_hour_is_lost_and_nothing_else(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    now_ms = await record(history, from_ms=NOW_MS, seconds=5400)
    again = await opened(tmp_path)
    again.add(now_ms + 5000, [reading(now_ms + 5000, 1.0)])
    times = await times_of(again, DAY)
    assert now_ms - times[-2] <= 17 * 60_000
    assert times[:-1] == list(range(NOW_MS, times[-2] + 1, 60_000))
    assert len(await times_of(again, HOUR)) > 40, "the hour continues with the minutes"
    for each in (history, again):
        await each.close()


@pytest.mark.parametrize("back_seconds", [7, 600, 40_000, 3 * 86_400])
async def test_a_clock_that_goes_back_leaves_a_curve_in_order(
    tmp_path: Path, back_seconds: int
) -> None:
    history = await opened(tmp_path)
    now_ms = await record(history, from_ms=NOW_MS, seconds=4000)
    now_ms = await record(history, from_ms=now_ms - 1000 * back_seconds, seconds=4000)
    for ring in (HOUR, DAY, MONTH):
        times = await times_of(history, ring)
        assert times == sorted(set(times))
        assert times[-1] <= now_ms
    await history.close()
    again = await opened(tmp_path)
    again.add(now_ms, [])
    for ring in (HOUR, DAY, MONTH):
        times = await times_of(again, ring)
        assert times == sorted(set(times))
        assert times[-1] <= now_ms
    await again.close()


async def test_a_clock_that_jumps_ahead_leaves_a_gap(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    now_ms = await record(history, from_ms=NOW_MS, seconds=1800)
    ahead_ms = now_ms + 5 * 3_600_000
    await record(history, from_ms=ahead_ms, seconds=1800)
    times = await times_of(history, DAY)
    assert [t for t in times if now_ms < t < ahead_ms - 60_000] == []
    assert len(times) in {60, 61}
    await history.close()


async def test_a_year_ahead_and_back_costs_what_had_the_wrong_time(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    now_ms = await record(history, from_ms=NOW_MS, seconds=1800)
    await record(history, from_ms=now_ms + 365 * DAY_MS, seconds=1800)
    now_ms = await record(history, from_ms=now_ms + 5000, seconds=1800)
    times = await times_of(history, DAY)
    assert times == list(range(NOW_MS, now_ms + 1, 60_000))
    await history.close()


async def test_a_device_whose_own_clock_lags_does_not_reorder_its_curve(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    history.add(NOW_MS, [reading(NOW_MS, 1.0)])
    history.add(NOW_MS + 10_000, [reading(NOW_MS + 10_000, 2.0), reading(NOW_MS + 1_000, 9.0)])
    points = history.last_hour(NAME).points
    assert [point.step for point in points] == sorted({point.step for point in points})
    assert points[-1].high == 9.0
    await history.close()


async def test_50_series_write_less_than_2_mb_a_day(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    hours = 4
    for time_ms in range(NOW_MS, NOW_MS + hours * 3_600_000, 30_000):
        readings = [
            reading(time_ms, round(20 + 5 * sin(time_ms * (n + 1) / 1e5), 2), f"sensors/b{n}/t")
            for n in range(50)
        ]
        history.add(time_ms, readings)
        await history.save()
    chunks_a_day = 24 * 4 + 24
    # For each appended chunk the file system writes the file's last page again.
    assert history.bytes_written * 24 / hours + chunks_a_day * 4096 < 2_000_000
    await history.close()


async def test_series_beyond_the_limit_are_counted_and_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SERIES_MAX", 3)
    history = await opened(tmp_path)
    history.add(NOW_MS, [reading(NOW_MS, 1.0, f"sensors/b/{n}") for n in range(5)])
    history.add(NOW_MS, [reading(NOW_MS, 1.0, "x" * 300)])
    assert len(history.names()) == 3
    assert history.refused == 3
    later_ms = NOW_MS + 2 * 3_600_000
    history.add(later_ms, [])
    await history.save()
    await history.save()
    history.add(later_ms, [reading(later_ms, 1.0, "sensors/new/one")])
    assert "sensors/new/one" in history.names(), "a series that is silent for an hour gives way"
    await history.close()


async def test_a_directory_that_cannot_be_written_is_said_and_the_hour_is_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    history = await opened(tmp_path / "file" / "history")
    assert "The history cannot be saved" in (history.problem or "")
    await record(history, from_ms=NOW_MS, seconds=4000)
    assert len(history.last_hour(NAME).points) >= 720
    assert len(await times_of(history, DAY)) > 60
    await history.close()


async def test_a_disk_that_refuses_for_a_while_is_said_until_it_takes_again(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "history"
    history = await opened(directory)
    now_ms = await record(history, from_ms=NOW_MS, seconds=1000)
    assert history.problem is None
    elsewhere = tmp_path / "elsewhere"
    directory.rename(elsewhere)
    now_ms = await record(history, from_ms=now_ms + 5000, seconds=1200)
    assert "cannot be saved" in (history.problem or "")
    elsewhere.rename(directory)
    now_ms = await record(history, from_ms=now_ms + 5000, seconds=1200)
    assert history.problem is None
    assert await times_of(history, DAY) == list(range(NOW_MS, now_ms + 1, 60_000))
    await history.close()


async def test_a_damaged_file_is_said_and_nothing_fails(tmp_path: Path) -> None:
    history = await opened(tmp_path)
    await record(history, from_ms=NOW_MS, seconds=4000)
    await history.close()
    damage_all(tmp_path)
    again = await opened(tmp_path)
    assert "was damaged" in (again.problem or "")
    await record(again, from_ms=NOW_MS + 4_000_000, seconds=4000)
    assert await times_of(again, DAY)
    await again.close()
