"""Verification of a segment: which segments are trusted, and why others are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from cloud_jobs.ingest.segment_file import MORE, Verdict, verify
from cloud_jobs.limits import (
    BAD_LINES_PER_SEGMENT_MAX,
    LINE_BYTES_MAX,
    SEGMENT_BYTES_MAX,
    SEGMENT_FILE_BYTES_MAX,
    SEGMENT_LINES_MAX,
)
from cloud_jobs.tables.event_fields import KNOWN_EVENTS
from tests.contract.segments import (
    Event,
    Segment,
    compressed,
    numbered,
    opened,
    readings,
    sealed,
    segment_name,
)

GOLDEN = Path(__file__).parents[2] / "contract" / "golden"


def judged(segment: Segment) -> Verdict:
    return verify(segment.name, segment.content, len(segment.content))


def good() -> Segment:
    return sealed(numbered([opened(), *readings(3)], 5), first_sequence=5)


def renamed_for(content: bytes) -> Segment:
    """Return a segment with these bytes, named as `good()` names one."""
    name = segment_name(
        content, gateway="gw-1", boot="0f3a5c7e9b1d2f40", segment=1, first=5, last=11
    )
    return Segment(name, content)


def test_a_segment_made_from_the_contract_is_trusted_line_by_line() -> None:
    verdict = judged(good())
    assert verdict.reason is None
    assert [line.sequence for line in verdict.lines] == list(range(5, 12))
    assert [line.number for line in verdict.lines] == list(range(2, 9))
    assert all(line.reason is None for line in verdict.lines)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.zst")), ids=lambda path: path.name[:36])
def test_the_golden_segments_are_trusted_and_none_of_their_lines_is_refused(path: Path) -> None:
    verdict = verify(path.name, path.read_bytes(), path.stat().st_size)
    assert (verdict.reason, verdict.detail) == (None, None)
    assert [line.detail for line in verdict.lines if line.reason] == []


def test_the_golden_segments_hold_every_event_of_the_contract() -> None:
    seen = set()
    for path in GOLDEN.glob("*.zst"):
        for line in verify(path.name, path.read_bytes(), path.stat().st_size).lines:
            seen.add(json.loads(line.body or "")["event"])
    assert seen >= KNOWN_EVENTS


def test_every_cut_of_a_segment_is_refused() -> None:
    whole = good()
    for length in range(len(whole.content)):
        verdict = verify(whole.name, whole.content[:length], length)
        assert verdict.reason in {"cut", "not_zstd", "damaged"}, length
        assert verdict.lines == []


def test_every_flipped_bit_of_a_segment_is_refused() -> None:
    whole = good()
    for index in range(len(whole.content)):
        for bit in range(8):
            content = bytearray(whole.content)
            content[index] ^= 1 << bit
            assert verify(whole.name, bytes(content), len(content)).reason is not None


# No deadline, because a JVM may be using the processor.
@given(st.binary(max_size=300), st.text(max_size=80))
def test_no_bytes_and_no_name_make_the_verifier_raise(content: bytes, name: str) -> None:
    assert verify(name, content, len(content)).reason is not None


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=5))
def test_no_lines_make_the_verifier_raise(lines: list[bytes]) -> None:
    made = sealed([line.replace(b"\n", b"") + b"\n" for line in lines], first_sequence=1)
    verdict = judged(made)
    assert verdict.reason in {None, "sequence"}
    assert all(line.raw is not None for line in verdict.lines if line.reason)


BREAKS: dict[str, tuple[str, Callable[[], Segment]]] = {
    "bytes after the frame": ("trailing_bytes", lambda: renamed_for(good().content + b"x")),
    "two frames": ("trailing_bytes", lambda: renamed_for(good().content * 2)),
    "text that is not compressed": ("not_zstd", lambda: renamed_for(b"x" * 100)),
    "nothing at all": ("cut", lambda: renamed_for(b"")),
    "no content checksum": (
        "no_checksum",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, checksum=False),
    ),
    "another version": (
        "version",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, header={"version": 2}),
    ),
    "another format": (
        "header",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, header={"format": "x"}),
    ),
    "a gateway with a slash": (
        "header",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, header={"gateway": "a/../b"}),
    ),
    "a gateway with a line end": (
        "header",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, header={"gateway": "gw\n"}),
    ),
    "an unknown clock quality": (
        "header",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, header={"clock": ["x"]}),
    ),
    "a footer that counts wrong": (
        "count",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, footer={"count": 2}),
    ),
    "a footer of other lines": (
        "digest",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, footer={"sha256": "0" * 64}),
    ),
    "a skippable frame": (
        "no_checksum",
        lambda: renamed_for(b"\x50\x2a\x4d\x18\x04\0\0\0abcd"),
    ),
    "a footer that is no JSON": ("footer", lambda: _with_last_line(b"{\n")),
    "a last line without its end": ("footer", lambda: _with_last_line(b"{}")),
    "a header with another gateway than the name": (
        "renamed",
        lambda: sealed(numbered([opened()], 1), first_sequence=1, header={"gateway": "gw-2"}),
    ),
    "a sequence that leaps": (
        "sequence",
        lambda: sealed([*numbered([opened()], 1), *numbered([opened()], 3)], first_sequence=1),
    ),
    "a sequence twice": (
        "sequence",
        lambda: sealed([*numbered([opened()], 1), *numbered([opened()], 1)], first_sequence=1),
    ),
}


def _with_last_line(line: bytes) -> Segment:
    text = zstd.decompress(good().content)
    return renamed_for(compressed(b"".join(text.splitlines(keepends=True)[:-1]) + line))


@pytest.mark.parametrize(("reason", "make"), BREAKS.values(), ids=BREAKS.keys())
def test_a_segment_that_breaks_the_contract_is_refused_with_its_reason(
    reason: str, make: Callable[[], Segment]
) -> None:
    verdict = judged(make())
    assert (verdict.reason, verdict.lines) == (reason, [])
    assert verdict.detail


def test_a_renamed_segment_is_refused_with_its_right_name() -> None:
    whole = good()
    verdict = verify("copy of a segment.jsonl.zst", whole.content, len(whole.content))
    assert verdict.reason == "renamed"
    assert whole.name in (verdict.detail or "")


def test_the_largest_segment_of_the_contract_is_trusted_and_one_byte_more_is_not() -> None:
    def of_size(size_bytes: int) -> Segment:
        empty = sealed(numbered([{"event": "x", "pad": ""}] * 9, 1), first_sequence=1)
        unpacked = len(zstd.decompress(empty.content))
        missing = size_bytes - unpacked
        pads = [missing // 9 + (index < missing % 9) for index in range(9)]
        events = [{"event": "x", "pad": "p" * pad} for pad in pads]
        return sealed(numbered(events, 1), first_sequence=1)

    assert judged(of_size(SEGMENT_BYTES_MAX)).uncompressed_bytes == SEGMENT_BYTES_MAX
    assert judged(of_size(SEGMENT_BYTES_MAX)).reason is None
    assert judged(of_size(SEGMENT_BYTES_MAX + 1)).reason == "too_large"


def test_a_file_that_is_too_large_is_refused_without_its_bytes() -> None:
    verdict = verify(good().name, None, SEGMENT_FILE_BYTES_MAX + 1)
    assert (verdict.reason, verdict.file_sha256) == ("too_large", None)


BAD_LINES: dict[str, tuple[str, bytes]] = {
    "no JSON": ("not_json", b'{"sequence":1,\n'),
    "an empty line": ("not_json", b"\n"),
    "no UTF-8": ("not_utf8", b'{"x":"\xff"}\n'),
    "a list": ("not_an_object", b"[1]\n"),
    "NaN": ("not_json", b'{"sequence":1,"time":NaN,"event":"x"}\n'),
    "half of a surrogate pair": (
        "not_json",
        b'{"sequence":1,"time":1,"event":"broker_stopped","x":"\\ud800"}\n',
    ),
    "deep nesting": ("not_json", b"[" * 100_000 + b"\n"),
    "a number of 5,000 digits": ("not_json", b'{"sequence":' + b"1" * 5000 + b"}\n"),
    "no sequence": ("bad_field", b'{"time":1,"event":"broker_stopped"}\n'),
    "a sequence that is true": ("bad_field", b'{"sequence":true,"time":1,"event":"x"}\n'),
    "no time": ("bad_field", b'{"sequence":1,"event":"broker_stopped"}\n'),
    "a time after all calendars": (
        "bad_field",
        b'{"sequence":1,"time":9223372036854775807,"event":"broker_stopped"}\n',
    ),
    "a topic that is a number": (
        "bad_field",
        b'{"sequence":1,"time":1,"event":"retained_cleared","topic":1}\n',
    ),
    "a message beyond 64 bits": (
        "bad_field",
        b'{"sequence":1,"time":1,"event":"message_released","message":9223372036854775808}\n',
    ),
    "a line of more than a MiB": ("line_too_long", b" " * (LINE_BYTES_MAX + 1) + b"\n"),
}


@pytest.mark.parametrize(("reason", "line"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_malformed_line_is_set_aside_alone_and_keeps_its_place(reason: str, line: bytes) -> None:
    lines: list[Event | bytes] = [line, *numbered([opened()], 2)]
    verdict = judged(sealed(lines, first_sequence=1))
    assert verdict.reason is None
    bad, after = verdict.lines
    assert (bad.reason, bad.sequence, bad.body) == (reason, 1, None)
    assert bad.raw is not None
    assert (after.reason, after.sequence) == (None, 2)


def many_bad_lines(count: int) -> Segment:
    lines: list[Event | bytes] = [b"{}\n"] * count
    return sealed([*lines, *numbered([opened()], count + 1)], first_sequence=1)


def test_a_flood_of_malformed_lines_gives_a_hundred_rows_and_one_that_counts_the_rest() -> None:
    verdict = judged(many_bad_lines(10_000))
    assert (verdict.reason, verdict.bad_lines) == (None, 10_000)
    *bad, more = [line for line in verdict.lines if line.reason is not None]
    (good_one,) = [line for line in verdict.lines if line.reason is None]
    assert [line.sequence for line in bad] == list(range(1, BAD_LINES_PER_SEGMENT_MAX + 1))
    assert (more.reason, more.body, more.sequence) == (MORE, "9900", 10_000)
    assert "9,900 more malformed lines among events 101 to 10000" in (more.detail or "")
    assert good_one.sequence == 10_001


def test_a_few_hundred_bytes_cannot_make_more_rows_than_a_segment_has_room_for_events() -> None:
    small = many_bad_lines(500_000)
    assert len(small.content) < 600
    verdict = judged(small)
    assert (verdict.reason, verdict.lines, verdict.bad_lines) == ("too_many_lines", [], 0)
    assert len(judged(many_bad_lines(SEGMENT_LINES_MAX - 3)).lines) == (
        BAD_LINES_PER_SEGMENT_MAX + 2
    )
