"""Parsing all lines of a segment together gives the same events as parsing each line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_jobs.ingest import segment_columns
from cloud_jobs.ingest.segment_columns import columns_of, verify_in_columns
from cloud_jobs.ingest.segment_file import verify
from cloud_jobs.limits import LINE_BYTES_MAX
from tests.cloud_jobs.ingest.test_segment_file import BAD_LINES, BREAKS, GOLDEN, many_bad_lines
from tests.contract.segments import Event, Segment, json_line, numbered, opened, readings, sealed


def both_ways(name: str, content: bytes) -> None:
    """Compare the columns of a segment with its lines parsed one by one."""
    by_line = verify(name, content, len(content))
    verdict, columns = verify_in_columns(name, content, len(content))
    good = [line for line in by_line.lines if line.reason is None]
    by_line.lines = [line for line in by_line.lines if line.reason is not None]
    assert verdict == by_line
    assert (columns is None) == (by_line.reason is not None)
    rows = [] if columns is None else columns.to_pylist()
    found = [
        (row.pop("line"), row.pop("extra"), {k: v for k, v in row.items() if v is not None})
        for row in rows
    ]
    expected = []
    for line in good:
        body = json.loads(line.body or "")
        body = {key: value for key, value in body.items() if value is not None}
        expected.append((line.number, line.extra, body))
    assert found == expected


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.zst")), ids=lambda path: path.name[:36])
def test_the_golden_segments_are_the_same_in_columns(path: Path) -> None:
    both_ways(path.name, path.read_bytes())


@pytest.mark.parametrize("make", [make for _, make in BREAKS.values()], ids=BREAKS.keys())
def test_what_is_refused_as_a_whole_is_refused_for_the_same_reason(
    make: Callable[[], Segment],
) -> None:
    broken = make()
    both_ways(broken.name, broken.content)


ODD_LINES: dict[str, bytes] = {
    "two objects": b'{"sequence":1,"time":1,"event":"x"} {"sequence":2,"time":1,"event":"x"}\n',
    "an object that goes on": b'{"sequence":1,"time":1,\n"event":"x"}\n',
    "a field twice": b'{"sequence":1,"sequence":1,"time":1,"event":"x"}\n',
    "a field twice, and null": b'{"qos":null,"qos":1,"sequence":1,"time":1,"event":"x"}\n',
    "blanks before and after": b' {"sequence":1,"time":1,"event":"x"}\t\r\n',
    "a field of a later version": b'{"sequence":1,"time":1,"event":"x","later":{"a":[1]}}\n',
    "a known name of another type": b'{"sequence":1,"time":1,"event":"later","topic":7}\n',
    "a name that is escaped": b'{"\\u0073equence":1,"time":1,"event":"x"}\n',
    "a zero character": b'{"sequence":1,"time":1,"event":"x","topic":"a\\u0000b"}\n',
    "a surrogate pair": b'{"sequence":1,"time":1,"event":"x","topic":"\\ud83d\\ude00"}\n',
    "half of a pair, the second": b'{"sequence":1,"time":1,"event":"x","topic":"\\udc00"}\n',
    "characters": '{"sequence":1,"time":1,"event":"x","topic":"ü😀"}\n'.encode(),
    "overlong UTF-8": b'{"sequence":1,"time":1,"event":"x","topic":"\xc0\xaf"}\n',
    "UTF-8 of a surrogate": b'{"sequence":1,"time":1,"event":"x","topic":"\xed\xa0\x80"}\n',
    "a raw control character": b'{"sequence":1,"time":1,"event":"x","topic":"a\x01"}\n',
    "minus nothing": b'{"sequence":1,"time":-0,"event":"x"}\n',
    "a fraction": b'{"sequence":1,"time":1.0,"event":"x"}\n',
    "an exponent": b'{"sequence":1,"time":1e0,"event":"x"}\n',
    "a zero in front": b'{"sequence":01,"time":1,"event":"x"}\n',
    "a number that is text": b'{"sequence":"1","time":1,"event":"x"}\n',
    "a truth that is text": b'{"sequence":1,"time":1,"event":"retained_set","retain":"true"}\n',
    "a comment": b'{"sequence":1,/**/"time":1,"event":"x"}\n',
    "a comma too many": b'{"sequence":1,"time":1,"event":"x",}\n',
    "the least integer": b'{"sequence":1,"time":1,"event":"x","step_ms":-9223372036854775808}\n',
    "all null": b'{"sequence":1,"time":1,"event":"x","qos":null,"topic":null,"retain":null}\n',
    "no event": b'{"sequence":1,"time":1,"event":null}\n',
    "a MiB": b'{"sequence":1,"time":1,"event":"x","topic":"' + b"t" * LINE_BYTES_MAX + b'"}\n',
}  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [*(line for _, line in BAD_LINES.values()), *ODD_LINES.values()],
    ids=[*BAD_LINES, *ODD_LINES],
)
@pytest.mark.parametrize("place", ["first", "last", "alone", "beside an empty one"])
def test_an_odd_line_is_the_same_in_columns(line: bytes, place: str) -> None:
    lines: list[Event | bytes] = [line]
    if place != "alone":
        lines += numbered([opened(), *readings(1)], 2)
    if place == "last":
        line = line.replace(b'equence":1', b'equence":4')
        lines = [*numbered([opened()] * 3, 1), line]
    if place == "beside an empty one":
        lines.insert(1, b"\n")
    made = sealed(lines, first_sequence=1)
    both_ways(made.name, made.content)


def test_a_flood_of_malformed_lines_is_the_same_in_columns() -> None:
    made = many_bad_lines(300)
    both_ways(made.name, made.content)


def test_what_a_gateway_writes_is_parsed_as_a_whole() -> None:
    lines = b"".join(map(json_line, numbered([opened(), *readings(3)], 5)))
    columns = columns_of(lines, range(5, 12))
    assert columns is not None
    assert columns.column("sequence").to_pylist() == list(range(5, 12))
    assert columns.column("line").to_pylist() == list(range(2, 9))
    assert columns_of(lines, range(6, 13)) is None


LATE: dict[str, bytes] = {
    "a field of the contract": b'"limit":"x"',
    "one that is null": b'"limit":null',
    "one of another type": b'"limit":7',
    "one of a later version": b'"later":7',
    "one that is there twice": b'"qos":1,"qos":2',
    "one with characters": '"detail":"ü"'.encode(),
}


@pytest.mark.parametrize("late", LATE.values(), ids=LATE.keys())
@pytest.mark.parametrize("place", [0, 700, 1500, 2999])
def test_a_field_that_occurs_in_one_part_of_the_lines_is_the_same_in_columns(
    late: bytes, place: int
) -> None:
    lines: list[Event | bytes] = [*numbered([opened()] * 20 + readings(1490), 1)]
    usual = json_line(numbered([opened()], place + 1)[0])
    lines[place] = usual.removesuffix(b"}\n") + b"," + late + b"}\n"
    made = sealed(lines, first_sequence=1)
    with (
        patch.object(segment_columns, "_FIRST_PART_BYTES", 1 << 10),
        patch.object(segment_columns, "_PART_BYTES", 1 << 16),
    ):
        both_ways(made.name, made.content)


_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | st.text(max_size=8)
    | st.lists(st.none(), max_size=1)
)
_fields = st.sampled_from(["session", "topic", "retain", "event", "time", "sequence", "later"])


@settings(max_examples=150)
@given(st.lists(st.dictionaries(_fields, _scalars, max_size=4), min_size=1, max_size=4))
def test_whatever_the_fields_are_the_columns_are_those_of_the_lines(
    events: list[dict[str, object]],
) -> None:
    usual = [{"sequence": n, "time": n, "event": "x"} for n in range(1, len(events) + 1)]
    lines = [
        json.dumps(one | other).encode() + b"\n" for one, other in zip(usual, events, strict=True)
    ]
    made = sealed(lines, first_sequence=1)
    both_ways(made.name, made.content)
