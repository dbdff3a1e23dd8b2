"""Manages the files of one ring (resolution) of the history.

New chunks are appended, and the oldest files are removed to limit their number and size. The files
are not fsynced, to reduce writes to the card. The last chunk may therefore be incomplete after a
power cut. Its checksum is then wrong, and the next append overwrites it. If a file is damaged
elsewhere, it is renamed, and the chunks before the damage are copied to a new file.

An instance must be used from only one thread at a time.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from api.history.chunks import Chunk, Damaged, encoded, outline_of, points_in, series_in
from api.history.chunks import Points as ChunkPoints
from api.history.points import Point
from api.history.rings import Ring
from gateway.process.files.disk_errors import line_of
from gateway.process.files.private import open_private

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_SUFFIX: Final = ".history"
_DAMAGED: Final = ".damaged"


@dataclass
class _File:
    path: Path
    number: int
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.chunks)

    @property
    def steps(self) -> int:
        return sum(each.steps for each in self.chunks)


class ChunkFiles:
    """The files of one ring, in a directory. A ring is one resolution of the history."""

    def __init__(self, directory: Path, ring: Ring) -> None:
        self._directory: Final = directory
        self._ring: Final = ring
        self._files: list[_File] = []
        self.damaged: list[str] = []
        """Names to which damaged files were renamed."""
        self.bytes_written = 0

    def open(self) -> None:
        """Find the chunks that earlier runs wrote.

        Raises OSError if the directory cannot be used.
        """
        self._directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        pattern = re.compile(rf"{self._ring.name}-(\d{{1,12}}){re.escape(_SUFFIX)}")
        names = (pattern.fullmatch(path.name) for path in self._directory.iterdir())
        self._files = [
            _File(self._directory / found[0], int(found[1])) for found in names if found is not None
        ]
        self._files.sort(key=lambda file: file.number)
        for file in self._files:
            self._scan(file)
        self._limit()

    def append(self, first: int, points: ChunkPoints) -> None:
        """Append points as one chunk that begins at step `first`. Raises OSError if this fails."""
        chunk = encoded(self._ring.step_seconds, first, points)
        file = self._files[-1] if self._files else None
        if file is None or file.steps >= self._ring.file_steps:
            number = 1 if file is None else file.number + 1
            file = _File(self._directory / f"{self._ring.name}-{number:06}{_SUFFIX}", number)
            self._files.append(file)
        descriptor = open_private(file.path, os.O_WRONLY | os.O_CREAT)
        try:
            end = file.bytes
            # Remove the remains of a failed append or a power cut.
            os.ftruncate(descriptor, end)
            _write_whole(descriptor, chunk, end)
        finally:
            os.close(descriptor)
        file.chunks.append(outline_of(chunk, 0).moved_to(end))
        self.bytes_written += len(chunk)
        self._limit()

    def points_of(
        self, name: str, *, first: int, last: int, visible_before: int
    ) -> tuple[str | None, list[Point]]:
        """Return the unit of a series, and its points in ascending order of their steps.

        If two chunks overlap, the points of the chunk that was written later are returned. An
        overlap means that the clock was wrong when the earlier chunk was written.

        Args:
            name: the name of the series.
            first: the first step to return.
            last: the last step to return.
            visible_before: points from this step onwards are left out, because they are in memory.
        """
        found: list[list[Point]] = []
        unit = None
        for file, chunk in self._chunks_newest_first():
            if chunk.first <= last and chunk.last >= first and chunk.first < visible_before:
                end = min(last + 1, visible_before)
                decode = partial(points_in, chunk=chunk, wanted=name)
                of_series = self._read(file, chunk.group_of(name), decode) or {}
                for (_, its_unit), points in of_series.items():
                    unit = unit or its_unit
                    found.append([each for each in points if first <= each.step < end])
            visible_before = min(visible_before, chunk.first)
        return unit, [point for points in reversed(found) for point in points]

    def names(self) -> dict[str, str]:
        """Return the names of the series on disk, each with its unit.

        Only the newest chunk of each file is read.
        """
        found: dict[str, str] = {}
        for file in self._files:
            for chunk in file.chunks[-1:]:
                for place in chunk.groups:
                    found.update(self._read(file, place, series_in) or ())
        return found

    def latest(self, span_seconds: int) -> Iterator[tuple[tuple[str, str], list[Point]]]:
        """Yield each series with its points from the chunks of the last `span_seconds`.

        The time span ends at the last step on disk. If several chunks contain a series, the series
        is yielded once for each of them, the oldest chunk first.
        """
        chosen: list[tuple[_File, Chunk]] = []
        for file, chunk in self._chunks_newest_first():
            newest = chosen[0][1].last if chosen else chunk.last
            if (newest - chunk.last) * self._ring.step_seconds > span_seconds or (
                chosen and chunk.last >= chosen[-1][1].first
            ):
                break
            chosen.append((file, chunk))
        for file, chunk in reversed(chosen):
            for place in chunk.groups:
                decode = partial(points_in, chunk=chunk)
                yield from (self._read(file, place, decode) or {}).items()

    def _chunks_newest_first(self) -> Iterator[tuple[_File, Chunk]]:
        for file in reversed(self._files):
            for chunk in reversed(file.chunks):
                yield file, chunk

    def _read(
        self, file: _File, place: tuple[int, int], decode: Callable[[bytes], _Result]
    ) -> _Result | None:
        """Read and decode a group, which is a part of a chunk and contains some of its series.

        `place` is the group's offset in the file and its length, both in bytes. Return the result
        of `decode`, or None if the group cannot be read or decoded.
        """
        try:
            descriptor = open_private(file.path, os.O_RDONLY)
            try:
                return decode(os.pread(descriptor, place[1], place[0]))
            finally:
                os.close(descriptor)
        except OSError as error:
            logger.debug("%s: %s", file.path, line_of(error))
        except Damaged as damage:
            logger.debug("%s: %s", file.path, damage)
        return None

    def _scan(self, file: _File) -> None:
        """Find the chunks of a file.

        If the last chunk is incomplete, it is ignored. If the file is damaged elsewhere, it is
        renamed.
        """
        descriptor = open_private(file.path, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as opened:
            read = opened.read(2 * self._ring.bytes_max)
        offset = 0
        while offset < len(read):
            try:
                chunk = outline_of(read, offset)
                if chunk.step_seconds != self._ring.step_seconds:
                    raise Damaged("a chunk of another ring")
            except Damaged as damage:
                # A power cut leaves a torn chunk, or zeros, after the last complete chunk.
                if b"OGH1" in read[offset + 1 :] or file is not self._files[-1]:
                    self._set_aside(file, read[:offset], str(damage))
                return
            file.chunks.append(chunk)
            offset += chunk.bytes

    def _set_aside(self, file: _File, good: bytes, damage: str) -> None:
        aside = file.path.with_name(f"{self._ring.name}{_DAMAGED}")
        file.path.rename(aside)  # only the newest damaged file of each ring is kept
        logger.warning("%s is damaged: %s; it is kept as %s", file.path, damage, aside)
        self.damaged.append(aside.name)
        descriptor = open_private(file.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            _write_whole(descriptor, good, 0)
        finally:
            os.close(descriptor)

    def _limit(self) -> None:
        """Remove the oldest files if there are too many, or if their total size is too large."""
        while len(self._files) > self._ring.files_max or (
            len(self._files) > 1 and sum(file.bytes for file in self._files) > self._ring.bytes_max
        ):
            self._files.pop(0).path.unlink(missing_ok=True)


def _write_whole(descriptor: int, content: bytes, offset: int) -> None:
    while content:
        written = os.pwrite(descriptor, content, offset)
        content, offset = content[written:], offset + written
