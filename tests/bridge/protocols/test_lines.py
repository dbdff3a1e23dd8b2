"""Lines of text: three syntaxes, one way of counting what is wrong with them."""

from typing import Any

import pytest
from firmware_bridge.protocols.frame import Framing
from firmware_bridge.protocols.lines import LINE_BYTES_MAX, LineFraming
from firmware_bridge.protocols.text import csv_line_of, json_line, key_value_line
from hypothesis import given
from hypothesis import strategies as st


def framing(syntax: str) -> LineFraming:
    parsers = {
        "json": json_line,
        "key_value": key_value_line,
        "csv": csv_line_of(("temperature", "_", "door")),
    }
    return LineFraming(parsers[syntax], can_mistake_part_of_line=syntax != "json")


def values(framing: Framing, data: bytes) -> list[dict[str, Any]]:
    return [
        {name: found[0].value for name, found in frame.quantities.items()}
        for frame in framing.feed(data)
    ]


GOOD = [
    (
        "json",
        b'{"temperature":21.5,"count":3,"door":"open","fault":false,"gone":null}',
        {"temperature": 21.5, "count": 3, "door": "open", "fault": False},
    ),
    (
        "key_value",
        b"temperature=21.5 count=-3;door=open, fault=true gone=",
        {"temperature": 21.5, "count": -3, "door": "open", "fault": True},
    ),
    ("key_value", b"a=1e3", {"a": 1000.0}),
    ("key_value", b"a=nan b=1_000", {"a": "nan", "b": "1_000"}),
    ("csv", b'21.5,7,"half, open"', {"temperature": 21.5, "door": "half, open"}),
    ("csv", b" 21.5 , 7 ,", {"temperature": 21.5}),
    ("csv", "21.5,7,zu\u00fc".encode(), {"temperature": 21.5, "door": "zu\u00fc"}),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(("syntax", "line", "expected"), GOOD)
def test_a_line_becomes_a_frame_whole_or_byte_by_byte(
    syntax: str, line: bytes, expected: dict[str, Any], end: bytes
) -> None:
    assert values(framing(syntax), line + end) == [expected]
    slow = framing(syntax)
    found = [each for byte in line + end for each in values(slow, bytes((byte,)))]
    assert found == [expected]
    assert not slow.tally.damaged


DAMAGED = [
    ("json", b'{"a":1', "syntax"),
    ("json", b"[1]", "syntax"),
    ("json", b'"a"', "syntax"),
    ("json", b"[" * 4000, "syntax"),
    ("json", b'{"a":{"b":1}}', "value"),
    ("json", b'{"a":NaN}', "value"),
    ("json", b'{"a":1e999}', "value"),
    ("json", b'{"a":' + b"9" * 40 + b"}", "value"),
    ("json", b'{"a":"\\ud83d"}', "text"),
    ("json", b'{"a":"\\udc00\\ud800"}', "text"),
    ("json", b'{"\\ud800":1}', "name"),
    ("json", b'{"a":' + b"9" * 4090 + b"}", "value"),
    ("json", b'{"a/b":1}', "name"),
    ("json", b'{"a":1,"a":2}', "name"),
    ("json", b'{"":1}', "name"),
    ("key_value", b"hello", "syntax"),
    ("key_value", b"a=1 b", "syntax"),
    ("key_value", b"#=1", "name"),
    ("key_value", b"a=1 a=2", "name"),
    ("key_value", b"a=1e9999", "value"),
    ("key_value", b" ".join(b"a%d=1" % n for n in range(65)), "overlong"),
    ("key_value", b"a=\xff", "utf8"),
    ("csv", b"1,2", "columns"),
    ("csv", b"1,2,3,4", "columns"),
    ("csv", b'1,2,"3', "syntax"),
    ("csv", b"1" * (LINE_BYTES_MAX + 1), "overlong"),
]


@pytest.mark.parametrize(("syntax", "line", "reason"), DAMAGED)
def test_a_damaged_line_is_counted_by_reason_and_the_next_good_one_is_read(
    syntax: str, line: bytes, reason: str
) -> None:
    good, expected = next((line, expected) for name, line, expected in GOOD if name == syntax)
    reader = framing(syntax)
    assert values(reader, line + b"\n" + good + b"\n") == [expected]
    assert reader.tally.damaged == {reason: 1}


def test_empty_lines_and_a_repeated_heading_are_neither_frames_nor_damage() -> None:
    reader = framing("csv")
    assert values(reader, b"\n\r\n  \ntemperature,_,door\n1,2,3\n") == [
        {"temperature": 1, "door": 3}
    ]
    assert not reader.tally.damaged


def test_a_line_cut_by_opening_the_port_is_not_taken_for_a_whole_one() -> None:
    reader = framing("key_value")
    reader.begin(mid_line=True)
    assert values(reader, b"ature=1.5\ntemperature=21.5\n") == [{"temperature": 21.5}]
    assert reader.tally.damaged == {"truncated": 1}


def test_a_line_cut_by_a_lost_port_is_not_joined_to_the_next() -> None:
    reader = framing("key_value")
    reader.begin(mid_line=False)
    reader.feed(b"temperature=2")
    reader.begin(mid_line=False)
    assert values(reader, b"temperature=21.5\n") == [{"temperature": 21.5}]
    assert reader.tally.damaged == {"truncated": 1}


@given(
    syntax=st.sampled_from(["json", "key_value", "csv"]),
    pieces=st.lists(st.binary(max_size=200)),
)
def test_no_bytes_make_a_text_framing_raise(syntax: str, pieces: list[bytes]) -> None:
    reader = framing(syntax)
    for piece in pieces:
        reader.feed(piece)
