"""Fill a history with many series over a month of simulated time, and print its cost as JSON.

    python -m tests.api.history.full_size fill DIRECTORY --series 1000
    python -m tests.api.history.full_size read DIRECTORY
    python -m tests.api.history.full_size day DIRECTORY --series 50

It is a process of its own, because its memory is measured. The points on disk do not depend on how
often a series has a reading within a step. So `fill` uses one reading for each quarter of an hour
of the month, for each minute of the last 31 hours, and for each 5 seconds of the last hour. Each
reading is a summary with different lowest, mean, highest and last values, as the bridge reports it.
`day` uses a reading for each 5 seconds of a whole day.
"""

import argparse
import asyncio
import json
import random
import time
from collections.abc import Iterator
from math import sin
from pathlib import Path
from typing import Any, Final

from api.history.history import History, Reading
from api.history.rings import DAY, HOUR, MONTH, Ring

END_MS: Final = 1_795_252_500_000 // 3_600_000 * 3_600_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
JUMP_AT_MS: Final = END_MS - 12 * DAY_MS
"""Time at which the clock jumps ahead by JUMP_MS, so that the month has a gap."""
JUMP_MS: Final = 6 * HOUR_MS
BACK_AT_MS: Final = END_MS - 6 * DAY_MS
"""Time at which the clock goes back by an hour."""
SERIES_SHOWN: Final = 7


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("fill", "read", "day"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--series", type=int, default=1000)
    arguments = parser.parse_args()
    work = {"fill": _fill, "read": _read, "day": _day}[arguments.what]
    print(json.dumps(asyncio.run(work(arguments.directory, arguments.series))))


def times_of_month() -> Iterator[int]:
    """Yield the gateway's time of each recording, with a jump ahead and a jump back."""
    time_ms = END_MS - 31 * DAY_MS
    is_back = False
    while time_ms <= END_MS:
        yield time_ms
        left_ms = END_MS - time_ms
        time_ms += HOUR.step_ms if left_ms <= HOUR_MS else 60_000
        if left_ms > 31 * HOUR_MS:
            time_ms += MONTH.step_ms - 60_000
        if time_ms == JUMP_AT_MS:
            time_ms += JUMP_MS
        if time_ms == BACK_AT_MS and not is_back:
            is_back, time_ms = True, time_ms - HOUR_MS


async def _fill(directory: Path, series: int) -> dict[str, Any]:
    history, before_mib = History(directory), memory_mib("VmRSS")
    await history.open()
    began = time.process_time()
    for time_ms in times_of_month():
        history.add(time_ms, _readings(series, time_ms))
        await history.save()
    found = {
        "memory_mib": memory_mib("VmRSS") - before_mib,
        "peak_mib": memory_mib("VmHWM") - before_mib,
        "cpu_seconds": time.process_time() - began,
        "refused": history.refused,
        "curves": await _curves(history),
    }
    await history.close()
    return found | {"stop_peak_mib": memory_mib("VmHWM") - before_mib}


async def _read(directory: Path, _: int) -> dict[str, Any]:
    history, before_mib = History(directory), memory_mib("VmRSS")
    began = time.monotonic()
    await history.open()
    seconds = time.monotonic() - began
    found = {
        "open_seconds": seconds,
        "memory_mib": memory_mib("VmRSS") - before_mib,
        "series": len(history.names()),
        "problem": history.problem,
        "curves": await _curves(history),
    }
    await history.close()
    return found


async def _day(directory: Path, series: int) -> dict[str, Any]:
    history = History(directory)
    await history.open()
    began = time.process_time()
    for time_ms in range(END_MS - DAY_MS, END_MS, HOUR.step_ms):
        history.add(time_ms, _readings(series, time_ms))
        await history.save()
    found = {"bytes_written": history.bytes_written, "cpu_seconds": time.process_time() - began}
    await history.close()
    return found


async def _curves(history: History) -> dict[str, list[list[float]]]:
    """Return the points of one series in each ring."""
    name = _name_of(SERIES_SHOWN)
    curves: dict[str, list[list[float]]] = {}
    for ring in (HOUR, DAY, MONTH):
        points = (await history.curve(name, ring, from_ms=_begin_of(ring), to_ms=END_MS)).points
        curves[ring.name] = [list(each) for each in points]
    return curves


def _begin_of(ring: Ring) -> int:
    return END_MS - 1000 * ring.span_seconds


def _readings(series: int, time_ms: int) -> Iterator[Reading]:
    """Yield a reading of each series: a slow wave with noise, with two decimals like a sensor's."""
    chance = random.Random(time_ms)  # noqa: S311 - noise
    for number in range(series):
        value = 20 + number % 50 + 5 * sin(time_ms / 2e7 + number)
        low, high = value - chance.random(), value + chance.random()
        last = low + (high - low) * chance.random()
        mean = (low + high + last) / 3
        name, unit = _name_of(number), ("Cel", "hPa", "W")[number % 3]
        yield Reading(name, unit, time_ms, 12, round(low, 2), mean, round(high, 2), round(last, 2))


def _name_of(number: int) -> str:
    return f"sensors/board-{number // 8:04}/quantity_{number % 8}"


def memory_mib(key: str) -> float:
    """Return this process's memory in MiB: `VmRSS` now, or `VmHWM` at its peak."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if key in line)


if __name__ == "__main__":
    main()
