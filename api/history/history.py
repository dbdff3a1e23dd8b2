"""The history: three rings (resolutions) of points for each series, in memory and on disk.

The last hour is in memory, and is written to disk when the process stops. The points of the day and
the month are written to disk in chunks. Newer points are in memory until a chunk is complete. All
methods are called from the event loop. Files are read and written in a separate thread.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from api import limits
from api.history.chunk_files import ChunkFiles
from api.history.chunks import SERIES_PER_GROUP
from api.history.points import Point, Summary, Track
from api.history.rings import DAY, HOUR, MONTH, RINGS, Ring
from gateway.process.files.disk_errors import line_of

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

PENDING_STEPS_MAX: Final = 96
"""Steps kept while the files cannot be written: 96 minutes of the day, a day of the month ring."""

_FORGOTTEN_TOGETHER: Final = 36
"""Steps of the hour that are removed together, because each removal copies arrays."""


@dataclass(frozen=True)
class Reading:
    """Summary of one or more readings of the same series that arrived together."""

    name: str
    unit: str
    time_ms: int
    count: int
    low: float
    mean: float
    high: float
    last: float


@dataclass(frozen=True)
class Curve:
    """Points of one series in one ring (resolution), in ascending order of their steps."""

    name: str
    unit: str
    ring: Ring
    points: list[Point]


@dataclass(slots=True)
class _Series:
    unit: str
    tracks: dict[str, Track] = field(default_factory=lambda: {r.name: Track() for r in RINGS})
    summaries: dict[str, Summary] = field(default_factory=dict)

    def add(self, reading: Reading) -> None:
        for ring in RINGS:
            step = reading.time_ms // ring.step_ms
            summary = self.summaries.get(ring.name)
            if summary is None or summary.step != step:
                if summary is not None and summary.step > step:
                    step = summary.step  # a reading that arrived late, with the device's own time
                else:
                    summary = self.summaries[ring.name] = Summary(step)
            summary.add(reading.count, reading.low, reading.mean, reading.high, reading.last)
            self.tracks[ring.name].put(summary.point())

    def forget_from(self, ring: Ring, step: int) -> None:
        """Remove a ring's points from `step` onwards, because their times are wrong."""
        self.tracks[ring.name].forget_from(step)
        summary = self.summaries.get(ring.name)
        if summary is not None and summary.step >= step:
            del self.summaries[ring.name]

    @property
    def is_empty(self) -> bool:
        return not any(len(track) for track in self.tracks.values())


class History:
    """The history of one gateway. If ``directory`` is None, the history is in memory only."""

    def __init__(self, directory: Path | None) -> None:
        self._directory: Final = directory
        self._series: dict[str, _Series] = {}
        self._stored: dict[str, str] = {}
        self._files: dict[str, ChunkFiles] = {}
        self._thread: Final = ThreadPoolExecutor(1, thread_name_prefix="history")
        self._now_ms = 0
        self._begins: dict[str, int] = {}
        """For each ring, the first step that is in memory."""
        self._loaded = False
        self.damage: str | None = None
        """A sentence about a damaged file, or None."""
        self.fault: str | None = None
        """A sentence about why nothing can be written, or None."""
        self.refused = 0
        """Number of readings since the start that were rejected because of a limit on series."""

    async def open(self) -> None:
        """Load the points of earlier runs. An error is stored in `fault`, not raised."""
        if (directory := self._directory) is not None:
            await self._in_thread(lambda: self._open_files(directory))
            latest = self._latest_hours()
            # The points of a few series at a time need little memory.
            while found := await self._in_thread(lambda: [*islice(latest, SERIES_PER_GROUP)]):
                for name, unit, points in found:
                    self._resume(name, unit, points)
        self._loaded = True

    @property
    def now_ms(self) -> int:
        """Time of the latest recorded values by the gateway's clock, or 0 if there are none."""
        return self._now_ms

    @property
    def problem(self) -> str | None:
        """A sentence about a problem with the history's files, or None if there is no problem."""
        return self.fault or self.damage

    @property
    def bytes_written(self) -> int:
        """Total size in bytes of the chunks written since the process started."""
        return sum(files.bytes_written for files in self._files.values())

    def add(self, now_ms: int, readings: Iterable[Reading]) -> None:
        """Add readings that arrived at `now_ms`, by the gateway's clock.

        If the clock was set back, points with later times are removed. These times were wrong.
        """
        for ring in RINGS:
            step = now_ms // ring.step_ms
            begin = self._begins.setdefault(ring.name, step)
            if now_ms < self._now_ms:
                self._begins[ring.name] = min(begin, step)
                for series in self._series.values():
                    series.forget_from(ring, step + 1)
        self._now_ms = now_ms
        for reading in readings:
            if (of := self._series_of(reading)) is not None:
                of.add(reading)
        self._forget_old_hours()

    def _forget_old_hours(self) -> None:
        """Remove points older than an hour. For efficiency, this is done only every few minutes."""
        horizon = self._now_ms // HOUR.step_ms - HOUR.steps
        if horizon - self._begins[HOUR.name] >= _FORGOTTEN_TOGETHER:
            self._begins[HOUR.name] = horizon
            for series in self._series.values():
                series.tracks[HOUR.name].forget_before(horizon)

    async def save(self) -> None:
        """Write the points of the day and month rings to disk if they fill a whole chunk."""
        for ring in (DAY, MONTH):
            step = self._now_ms // ring.step_ms
            if step - self._begins.get(ring.name, step) >= ring.chunk_steps:
                await self._write(ring, before=step)
        for name in [name for name, series in self._series.items() if series.is_empty]:
            self._stored.setdefault(name, self._series.pop(name).unit)
        while len(self._stored) > limits.SERIES_STORED_MAX:
            del self._stored[next(iter(self._stored))]

    async def close(self) -> None:
        """Write the points in memory to disk if possible, and stop the thread."""
        if self._loaded:
            for ring in RINGS:
                await self._write(ring, before=self._now_ms // ring.step_ms + 1)
        self._thread.shutdown()

    def names(self) -> dict[str, str]:
        """Return the unit of each series as a dictionary, sorted by the series' names."""
        known = self._stored | {name: each.unit for name, each in self._series.items()}
        return dict(sorted(known.items()))

    async def curve(self, name: str, ring: Ring, *, from_ms: int, to_ms: int) -> Curve:
        """Return the points of a series in a time interval, or no points for an unknown series."""
        first, last = from_ms // ring.step_ms, min(to_ms, self._now_ms) // ring.step_ms
        series = self._series.get(name)
        begin = self._begins.get(ring.name, last + 1)
        recent = [] if series is None else series.tracks[ring.name].between(first, last)
        unit, stored = None, list[Point]()
        if first < begin and ring is not HOUR and ring.name in self._files:
            unit, stored = await self._in_thread(
                lambda: self._files[ring.name].points_of(
                    name, first=first, last=last, visible_before=begin
                )
            )
        unit = unit or self._stored.get(name) or "" if series is None else series.unit
        return Curve(name, unit, ring, stored + recent)

    def last_hour(self, name: str) -> Curve:
        """Return the points of a series in the last hour. These are always in memory."""
        step = self._now_ms // HOUR.step_ms
        series = self._series.get(name)
        points = [] if series is None else series.tracks[HOUR.name].between(step - HOUR.steps, step)
        return Curve(name, "" if series is None else series.unit, HOUR, points)

    def _series_of(self, reading: Reading) -> _Series | None:
        series = self._series.get(reading.name)
        if series is None:
            is_long = len(reading.name) > limits.SERIES_NAME_CHARACTERS_MAX
            if is_long or len(self._series) >= limits.SERIES_MAX:
                self.refused += 1
                return None
            series = self._series[reading.name] = _Series(reading.unit)
        series.unit = reading.unit or series.unit
        return series

    async def _write(self, ring: Ring, *, before: int) -> None:
        """Write points before step `before` to disk. If this fails, keep only the latest ones."""
        begin = self._begins.get(ring.name)
        if begin is not None and ring is HOUR:
            begin = max(begin, before - HOUR.steps)
        if begin is None or begin >= before or ring.name not in self._files:
            self._forget(ring, before - PENDING_STEPS_MAX)
            return
        points = {
            (name, series.unit): found
            for name, series in self._series.items()
            if (found := series.tracks[ring.name].copy(begin, before - 1))
        }
        if points:
            try:
                await self._in_thread(lambda: self._files[ring.name].append(begin, points))
            except OSError as error:
                self._note_fault(error)
                self._forget(ring, before - PENDING_STEPS_MAX)
                return
        self.fault = None
        self._forget(ring, before)

    def _forget(self, ring: Ring, before: int) -> None:
        if ring.chunk_steps and self._begins.get(ring.name, before) < before:
            self._begins[ring.name] = before
            for series in self._series.values():
                series.tracks[ring.name].forget_before(before)

    def _resume(self, name: str, unit: str, points: list[Point]) -> None:
        """Add points from an earlier run, in ascending order, to the last hour of a series."""
        series = self._series.get(name)
        if series is None:
            if len(self._series) >= limits.SERIES_MAX:
                return
            series = self._series[name] = _Series(unit)
        track = series.tracks[HOUR.name]
        for point in points:
            if point.step > (track.latest() or 0):
                track.put(point)
        self._now_ms = max(self._now_ms, (track.latest() or 0) * HOUR.step_ms)
        if points:
            self._begins[HOUR.name] = min(
                self._begins.get(HOUR.name, points[0].step), points[0].step
            )

    def _open_files(self, directory: Path) -> None:
        """Open the files of the history, and load the names of the series."""
        try:
            for ring in RINGS:
                files = ChunkFiles(directory, ring)
                files.open()
                self._files[ring.name] = files
                self._stored |= files.names()
        except OSError as error:
            self._note_fault(error)
        damaged = [name for files in self._files.values() for name in files.damaged]
        if damaged:
            kept = f"charts may have gaps; the damaged file is kept as {directory / damaged[0]}"
            self.damage = f"The history was damaged, and {kept}."

    def _latest_hours(self) -> Iterator[tuple[str, str, list[Point]]]:
        """Yield the name and the unit of each series on disk, and its points of the last hour.

        After a power cut, these points come from the day ring and are a minute apart.
        """
        for ring in (HOUR, DAY):
            every = ring.step_seconds // HOUR.step_seconds
            if ring.name in self._files:
                for (name, unit), points in self._files[ring.name].latest(HOUR.span_seconds):
                    yield name, unit, [p._replace(step=p.step * every) for p in points]

    def _note_fault(self, error: OSError) -> None:
        fault = (
            f"The history cannot be saved: {line_of(error)}. Charts are kept in memory until the "
            "page stops."
        )
        if self.fault is None:
            logger.warning("%s", fault)
        self.fault = fault

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
