"""Format of a chunk in the history's files: the points of all series for some consecutive steps.

The format is also described in docs/formats/history.md. In the layout below, ``|`` separates the
fields, and ``u32`` is an unsigned 32-bit integer. ``* groups`` means one value for each group.
Integers are little-endian::

    chunk  magic "OGH1" | body bytes u32 | CRC-32 of the body u32 | body
    body   step seconds u16 | steps u16 | groups u16 | first step u64 | group bytes u32 * groups |
           groups
    group  zlib of: names bytes u32 | names | values

A series is in group CRC-32(name) modulo the number of groups, so that one series can be read
without unpacking all groups. Names are JSON, ``[[name, unit, decimals], ...]``. Each series has
four columns (lowest, mean, highest, last) with one value of 8 bytes per step.

The values of most sensors have only a few decimals. For these sensors, `decimals` is the number of
decimals, and the values are stored as integers in units of the last decimal. zlib compresses
integers to a third of the size of float64 values. For other sensors, `decimals` is null or missing,
and the values are float64. The module ``scaled`` implements both forms. The first bytes of all
values are stored first, then the second bytes, and so on, because neighbouring values have similar
bytes.
"""

import json
import struct
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Final

from api.history.points import Point
from api.history.scaled import COLUMNS, DECIMALS_MAX, columns_in, packed

MAGIC: Final = b"OGH1"
_HEAD: Final = struct.Struct("<4sII")
_BODY: Final = struct.Struct("<HHHQ")
_LENGTH: Final = struct.Struct("<I")
HEAD_BYTES: Final = _HEAD.size
BODY_BYTES_MAX: Final = 40_000_000
"""Bytes of a chunk's body, at most.

An hour of 1,000 series in steps of 5 seconds has 23 MB before compression.
"""
SERIES_PER_GROUP: Final = 64
_GROUPS_MAX: Final = 1024
_STEPS_MAX: Final = 4096
GROUP_BYTES_MAX: Final = 16_000_000
"""Bytes of an unpacked group, at most: a crafted file must not use more memory than a real one."""


class Damaged(ValueError):
    """Error that is raised if bytes are not a valid chunk."""


@dataclass(frozen=True)
class Chunk:
    """Position of a chunk in its file, and the fields of its header.

    The chunk contains the steps from `first` to `first + steps - 1`.
    """

    offset: int
    bytes: int
    step_seconds: int
    first: int
    steps: int
    groups: tuple[tuple[int, int], ...]
    """Offset in the file and length in bytes of each group."""

    @property
    def last(self) -> int:
        return self.first + self.steps - 1

    def moved_to(self, offset: int) -> "Chunk":
        """Return a copy that describes the same chunk at another offset."""
        by = offset - self.offset
        groups = tuple((place + by, length) for place, length in self.groups)
        return replace(self, offset=offset, groups=groups)

    def group_of(self, name: str) -> tuple[int, int]:
        """Return the offset and the length, in bytes, of the group that can contain a series.

        No other group of the chunk can contain this series.
        """
        return self.groups[_number_of(name, len(self.groups))]


Points = Mapping[tuple[str, str], Iterable[Point]]
"""Points by the name and unit of their series."""


def encoded(step_seconds: int, first: int, points: Points) -> bytes:
    """Encode points as one chunk, from step `first` to the latest step of any point.

    There must be at least one point. Raises ValueError if there are too many steps for a chunk.
    """
    count = max(point.step for each in points.values() for point in each) - first + 1
    if not 0 < count <= _STEPS_MAX:
        raise ValueError(f"{count} steps do not fit a chunk")
    groups_count = max(1, -(-len(points) // SERIES_PER_GROUP))
    members: list[list[tuple[tuple[str, str], Iterable[Point]]]] = [[] for _ in range(groups_count)]
    for series, found in sorted(points.items()):
        members[_number_of(series[0], groups_count)].append((series, found))
    groups = [_group_of(each, first, count) for each in members]
    body = _BODY.pack(step_seconds, count, groups_count, first)
    body += b"".join(_LENGTH.pack(len(group)) for group in groups) + b"".join(groups)
    return _HEAD.pack(MAGIC, len(body), zlib.crc32(body)) + body


def _group_of(
    members: Iterable[tuple[tuple[str, str], Iterable[Point]]], first: int, count: int
) -> bytes:
    names: list[tuple[str, str, int | None]] = []
    raw = bytearray()
    for (name, unit), points in members:
        columns = [array("d", [nan]) * count for _ in range(COLUMNS)]
        for point in points:
            for column, value in zip(columns, point[1:], strict=True):
                column[point.step - first] = value
        decimals, values = packed(columns)
        names.append((name, unit, decimals))
        raw += values
    text = json.dumps(names, separators=(",", ":")).encode()
    planes = b"".join(raw[byte::8] for byte in range(8))
    return zlib.compress(_LENGTH.pack(len(text)) + text + planes, 9)


def outline_of(content: bytes, offset: int) -> Chunk:
    """Return the position and the header of the chunk at `offset` in a file.

    `content` contains all bytes of the file.

    Raises:
        Damaged: there is no valid chunk at this offset.
    """
    if len(content) - offset < _HEAD.size:
        raise Damaged("the file ends in a chunk")
    magic, length, checksum = _HEAD.unpack_from(content, offset)
    if magic != MAGIC or not _BODY.size <= length <= BODY_BYTES_MAX:
        raise Damaged("no chunk begins here")
    begin = offset + _HEAD.size
    body = memoryview(content)[begin : begin + length]
    if len(body) < length:
        raise Damaged("the file ends in a chunk")
    if zlib.crc32(body) != checksum:
        raise Damaged("the checksum is wrong")
    step_seconds, steps, groups, first = _BODY.unpack_from(body)
    lengths = _lengths_of(body, groups)
    if not 0 < steps <= _STEPS_MAX or not step_seconds or first >= 1 << 48:
        raise Damaged("impossible steps")
    places, place = [], begin + _BODY.size + _LENGTH.size * groups
    for each in lengths:
        places.append((place, each))
        place += each
    if place != begin + length:
        raise Damaged("impossible lengths")
    return Chunk(offset, _HEAD.size + length, step_seconds, first, steps, tuple(places))


def _lengths_of(body: memoryview, groups: int) -> list[int]:
    if not 0 < groups <= _GROUPS_MAX or _BODY.size + _LENGTH.size * groups > len(body):
        raise Damaged("impossible groups")
    return list(struct.unpack_from(f"<{groups}I", body, _BODY.size))


def series_in(group: bytes) -> list[tuple[str, str]]:
    """Return the name and unit of each series in a group (a part of a chunk).

    Raises:
        Damaged: the bytes are not a valid group, although the chunk's checksum is correct.
    """
    names, _ = _unpacked(group)
    return [(name, unit) for name, unit, _ in names]


def points_in(
    group: bytes, chunk: Chunk, wanted: str | None = None
) -> dict[tuple[str, str], list[Point]]:
    """Return the points in a group (a part of a chunk), keyed by the name and unit of the series.

    If `wanted` is given, return only the series with this name.

    Raises:
        Damaged: the bytes are not a valid group, although the chunk's checksum is correct.
    """
    names, planes = _unpacked(group)
    each = COLUMNS * chunk.steps
    if len(planes) != 8 * each * len(names):
        raise Damaged("impossible values")
    found: dict[tuple[str, str], list[Point]] = {}
    for number, (name, unit, decimals) in enumerate(names):
        if wanted is None or name == wanted:
            place = number * each
            found[name, unit] = _points_of(planes, place, len(names) * each, chunk, decimals)
    return found


def _points_of(
    planes: bytes, begin: int, plane_bytes: int, chunk: Chunk, decimals: int | None
) -> list[Point]:
    """Return the points of one series. Its bytes begin at offset `begin` in each byte plane.

    There are eight byte planes, one for each byte of a value. The first plane contains the first
    bytes of all values. `plane_bytes` is the length of a plane.
    """
    steps = chunk.steps
    raw = bytearray(8 * COLUMNS * steps)
    for byte in range(8):
        place = byte * plane_bytes + begin
        raw[byte::8] = planes[place : place + COLUMNS * steps]
    columns = columns_in(bytes(raw), steps, decimals)
    return [
        Point(chunk.first + index, *four)
        for index, four in enumerate(zip(*columns, strict=True))
        if not isnan(four[3])
    ]


def _unpacked(group: bytes) -> tuple[list[tuple[str, str, int | None]], bytes]:
    """Return the name, unit and decimals of each series in a group, and the bytes of all values."""
    try:
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(group, GROUP_BYTES_MAX)
        (length,) = _LENGTH.unpack_from(plain)
        names = json.loads(plain[_LENGTH.size : _LENGTH.size + length])
        series = [_series_in(*each) for each in names]
    except (zlib.error, struct.error, ValueError, TypeError, RecursionError) as error:
        raise Damaged("a group cannot be unpacked") from error
    return series, plain[_LENGTH.size + length :]


def _series_in(name: object, unit: object, decimals: object = None) -> tuple[str, str, int | None]:
    if decimals is None:
        return str(name), str(unit), None
    if type(decimals) is not int or not 0 <= decimals <= DECIMALS_MAX:
        raise ValueError(decimals)
    return str(name), str(unit), decimals


def _number_of(name: str, groups: int) -> int:
    return zlib.crc32(name.encode()) % groups
