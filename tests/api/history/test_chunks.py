"""The format of the history's files."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.history.chunks import Damaged, encoded, outline_of, points_in
from api.history.points import Point

NUMBERS = st.floats(-(2.0**90), 2.0**90, width=32)


def series_of(count: int, steps: int) -> dict[tuple[str, str], list[Point]]:
    return {
        (f"sensors/board/{number}", "Cel"): [
            Point(100 + step, number, number + 0.5, number + 1.0, number + 0.25)
            for step in range(number % 2, steps)
        ]
        for number in range(count)
    }


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_every_series_of_a_chunk_is_found_in_its_group(count: int) -> None:
    points = series_of(count, 15)
    content = encoded(60, 100, points)
    chunk = outline_of(content, 0)
    assert (chunk.first, chunk.last, chunk.step_seconds) == (100, 114, 60)
    for series, expected in points.items():
        begin, length = chunk.group_of(series[0])
        group = content[begin : begin + length]
        assert points_in(group, chunk, series[0]) == {series: expected}
    assert sum(len(points_in(content[at : at + n], chunk)) for at, n in chunk.groups) == count


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_values_come_back_to_the_last_digit(values: list[tuple[float, float, float]]) -> None:
    expected = [Point(step, low, low, high, last) for step, (low, high, last) in enumerate(values)]
    content = encoded(5, 0, {("a", ""): expected})
    chunk = outline_of(content, 0)
    begin, length = chunk.group_of("a")
    assert points_in(content[begin : begin + length], chunk)["a", ""] == expected


@given(st.data())
def test_no_byte_of_a_chunk_can_change_unnoticed(data: st.DataObject) -> None:
    content = bytearray(encoded(60, 100, series_of(3, 4)))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Damaged):
        outline_of(bytes(content), 0)


@given(st.integers(0, 200))
def test_a_chunk_that_is_cut_off_is_damaged(end: int) -> None:
    content = encoded(60, 100, series_of(3, 4))
    with pytest.raises(Damaged):
        outline_of(content[: min(end, len(content) - 1)], 0)


@given(st.binary(max_size=200))
def test_a_body_of_any_bytes_with_a_right_checksum_is_read_or_damaged(body: bytes) -> None:
    content = struct.pack("<4sII", b"OGH1", len(body), zlib.crc32(body)) + body
    try:
        chunk = outline_of(content, 0)
        for begin, length in chunk.groups:
            points_in(content[begin : begin + length], chunk)
    except Damaged:
        pass


@given(st.binary(max_size=100))
def test_a_group_of_any_bytes_is_read_or_damaged(plain: bytes) -> None:
    chunk = outline_of(encoded(60, 100, series_of(1, 2)), 0)
    for group in (plain, zlib.compress(plain)):
        with pytest.raises(Damaged):
            points_in(group, chunk)


def test_a_small_group_that_unpacks_to_much_is_damaged_and_costs_little() -> None:
    chunk = outline_of(encoded(60, 100, series_of(1, 2)), 0)
    with pytest.raises(Damaged):
        points_in(zlib.compress(bytes(40_000_000)), chunk)
