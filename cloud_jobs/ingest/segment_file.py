"""Verifies a segment file before its contents are used.

    <gateway>.<boot>.<segment>.<first sequence>-<last sequence>.<sha256 of the file>.jsonl.zst

    one zstd frame with a content checksum:
        header line   format, version, gateway, boot, store, segment, clock, previous_sha256
        event lines   sequence = first, first + 1, ... last
        footer line   count, first_sequence, last_sequence, sha256 of all bytes before this line;
                      if signed: public_key, signature

`verify` never raises an exception because of the contents of a file. It returns a verdict, which is
the result of the checks. If the file is refused, the verdict has a reason, and a text that names
the fix. Even in a trusted segment, single malformed lines can be refused. The limits in
cloud_jobs.limits keep the memory bounded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cloud_jobs.ingest.event_line import (
    BadLineError,
    check_event,
    columns_of_event,
    object_of_line,
)
from cloud_jobs.ingest.frame import UntrustedSegmentError, decompressed
from cloud_jobs.ingest.segment_name import SegmentName, name_of
from cloud_jobs.ingest.signature import signer_of
from cloud_jobs.limits import (
    BAD_LINES_PER_SEGMENT_MAX,
    DETAIL_CHARACTERS_MAX,
    LINE_BYTES_MAX,
    RAW_CHARACTERS_MAX,
    SEGMENT_FILE_BYTES_MAX,
    SEGMENT_LINES_MAX,
)

_GATEWAY: Final = re.compile(r"[a-z0-9-]{1,64}(?:_[a-z0-9-]{1,32})?\Z", re.ASCII)
_IDENTITY: Final = re.compile(r"[0-9a-f]{16}\Z", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
MORE: Final = "more"
"""The reason in a row that represents many refusals."""

_CLOCKS: Final = ("synchronised", "unsynchronised", "unknown")


@dataclass(frozen=True, slots=True)
class Header:
    """Contents of the first line of a segment."""

    gateway: str
    boot: str
    store: str
    segment: int
    clock: str
    previous_sha256: str | None


@dataclass(frozen=True, slots=True)
class Line:
    """One line between header and footer. `reason` is None for a valid line.

    `number` is the line number in the file; the header is line 1. `sequence` is the expected event
    number, even for a malformed line. `body` is JSON with the fields that have a column.

    If there are too many malformed lines, the last `Line` represents all omitted ones. Its `reason`
    is MORE, its `body` is their count, its `number` is the line number of the first of them, and
    its `sequence` is the event number of the last.
    """

    number: int
    sequence: int
    body: str | None
    extra: str | None
    reason: str | None = None
    detail: str | None = None
    raw: str | None = None


@dataclass(slots=True)
class Verdict:
    """Result of the checks of one file. `reason` is None if the segment is trusted."""

    name: str
    file_sha256: str | None = None
    file_bytes: int = 0
    uncompressed_bytes: int | None = None
    reason: str | None = None
    detail: str | None = None
    claimed: SegmentName | None = None
    header: Header | None = None
    public_key: str | None = None
    """The key that signed the segment. Whether the key belongs to the gateway is checked
    elsewhere."""
    lines: list[Line] = field(default_factory=list)
    bad_lines: int = 0
    """Number of malformed lines, including those without a row of their own."""


Judge: TypeAlias = Callable[[Verdict, bytes, range], None]
"""Function that checks event lines. It receives the verdict so far, the lines, and their expected
sequence numbers."""


def verify(
    name: str, content: bytes | None, file_bytes: int, judge: Judge | None = None
) -> Verdict:
    """Verify one segment file, and return the verdict.

    `content` is None if the file was too large to read. The function `judge` checks the event lines
    after all other checks have succeeded. The default is `judge_lines`.
    """
    verdict = Verdict(name=name, file_bytes=file_bytes, claimed=name_of(name))
    try:
        if content is None or len(content) > SEGMENT_FILE_BYTES_MAX:
            raise UntrustedSegmentError(
                "too_large",
                f"{file_bytes} bytes; a segment file has at most {SEGMENT_FILE_BYTES_MAX}",
            )
        verdict.file_sha256 = hashlib.sha256(content).hexdigest()
        events, sequences = _read_trusted(verdict, content)
        (judge or judge_lines)(verdict, events, sequences)
    except UntrustedSegmentError as error:
        verdict.reason = error.reason
        verdict.detail = str(error)[:DETAIL_CHARACTERS_MAX]
        verdict.lines, verdict.bad_lines = [], 0
    return verdict


def _read_trusted(verdict: Verdict, content: bytes) -> tuple[bytes, range]:
    """Check everything in a segment except the contents of the event lines.

    Return the event lines, and their expected sequence numbers, one for each line. Raises
    UntrustedSegmentError if a check fails.
    """
    text = decompressed(content)
    verdict.uncompressed_bytes = len(text)
    header_line, events, count, footer_line = _parts_of(text)
    header = _header_of(header_line)
    lines_sha256 = hashlib.sha256(memoryview(text)[: -1 - len(footer_line)]).hexdigest()
    footer, first, last = _checked_footer(footer_line, lines_sha256, count)
    assert verdict.file_sha256 is not None
    right = SegmentName(
        header.gateway, header.boot, header.segment, first, last, verdict.file_sha256
    )
    if verdict.claimed != right:
        # The contents are consistent, so the name is wrong, and the right name is known.
        raise UntrustedSegmentError(
            "renamed", f"the name is not that of the contents: name it {right}"
        )
    verdict.public_key = signer_of(footer, right, lines_sha256)
    verdict.header = header
    return events, range(first, last + 1)


def judge_lines(verdict: Verdict, events: bytes, sequences: range) -> None:
    """Check the event lines one by one, and add them to the verdict.

    Raises UntrustedSegmentError if a line has the wrong sequence number.
    """
    beyond: list[Line] = []
    lines = zip(sequences, events[:-1].split(b"\n"), strict=True)
    for number, (sequence, line) in enumerate(lines, 2):
        judged = _line_of(line, number=number, sequence=sequence)
        if judged.reason is not None:
            verdict.bad_lines += 1
            if verdict.bad_lines > BAD_LINES_PER_SEGMENT_MAX:
                beyond[1:] = [judged]  # the first and the last line
                continue
        verdict.lines.append(judged)
    if beyond:
        count = verdict.bad_lines - BAD_LINES_PER_SEGMENT_MAX
        start, end = beyond[0], beyond[-1]
        detail = (
            f"{count:,} more malformed lines among events {start.sequence} to {end.sequence}; "
            f"the first of them: {start.detail}"
        )[:DETAIL_CHARACTERS_MAX]
        verdict.lines.append(Line(start.number, end.sequence, str(count), None, MORE, detail))


def _parts_of(text: bytes) -> tuple[bytes, bytes, int, bytes]:
    """Split a segment into the header, the event lines with their line ends, and the footer.

    The number of event lines is returned before the footer. Raises UntrustedSegmentError if there
    are too few or too many lines.
    """
    if not text.endswith(b"\n"):
        raise UntrustedSegmentError("footer", "the last line has no line end")
    count = text.count(b"\n")
    if count > SEGMENT_LINES_MAX:
        raise UntrustedSegmentError(
            "too_many_lines", f"more than {SEGMENT_LINES_MAX} lines, so that most are no events"
        )
    if count < 3:
        raise UntrustedSegmentError(
            "count", f"{count} lines; a segment has a header, events and a footer"
        )
    header_end, footer_start = text.index(b"\n"), text.rindex(b"\n", 0, -1) + 1
    events = text[header_end + 1 : footer_start]
    return text[:header_end], events, count - 2, text[footer_start:-1]


def _object_or_refuse(line: bytes, what: str) -> dict[str, object]:
    try:
        if len(line) > LINE_BYTES_MAX:
            raise UntrustedSegmentError(what, f"the {what} is longer than {LINE_BYTES_MAX} bytes")
        return object_of_line(line)
    except BadLineError as error:
        raise UntrustedSegmentError(what, f"the {what} is not readable: {error}") from error


def _header_of(line: bytes) -> Header:
    value = _object_or_refuse(line, "header")
    if value.get("format") != "oncegate-session-log":
        raise UntrustedSegmentError("header", "the header's `format` is not oncegate-session-log")
    if type(value.get("version")) is not int or value["version"] != 1:
        raise UntrustedSegmentError(
            "version",
            f"session log version {value.get('version')!r}; this job reads version 1: update it",
        )
    gateway = _matching(value, "gateway", _GATEWAY)
    boot = _matching(value, "boot", _IDENTITY)
    store = _matching(value, "store", _IDENTITY)
    segment, clock = value.get("segment"), value.get("clock")
    if type(segment) is not int or not 1 <= segment < 10**8:
        raise UntrustedSegmentError("header", "the header's `segment` is no number from 1")
    if not isinstance(clock, str) or clock not in _CLOCKS:
        raise UntrustedSegmentError("header", f"the header's `clock` is none of {_CLOCKS}")
    previous = None
    if value.get("previous_sha256") is not None:
        previous = _matching(value, "previous_sha256", _SHA256)
    return Header(gateway, boot, store, segment, clock, previous)


def _matching(value: dict[str, object], name: str, pattern: re.Pattern[str]) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not pattern.match(text):
        raise UntrustedSegmentError(
            "header", f"the header's `{name}` is not what the format requires"
        )
    return text


def _checked_footer(
    line: bytes, lines_sha256: str, events: int
) -> tuple[dict[str, object], int, int]:
    """Parse the footer, and compare it with the hash and the count (`events`) of the event lines.

    Return the footer, and the first and the last sequence number. Raises UntrustedSegmentError if
    the footer does not match the lines.
    """
    footer = _object_or_refuse(line, "footer")
    numbers = [footer.get(name) for name in ("count", "first_sequence", "last_sequence")]
    count, first, last = (value if type(value) is int else -1 for value in numbers)
    if not 1 <= first <= last < 10**12:
        raise UntrustedSegmentError("footer", f"the footer's range {first}-{last} is impossible")
    if footer.get("sha256") != lines_sha256:
        raise UntrustedSegmentError(
            "digest", "the lines are not those that the footer's sha256 saw"
        )
    if not count == last - first + 1 == events:
        raise UntrustedSegmentError(
            "count",
            f"{events} events where the footer has {count} from {first} to {last}",
        )
    return footer, first, last


def _line_of(line: bytes, *, number: int, sequence: int) -> Line:
    try:
        if len(line) > LINE_BYTES_MAX:
            raise BadLineError("line_too_long", f"{len(line)} bytes; at most {LINE_BYTES_MAX}")
        event = object_of_line(line)
        check_event(event)
        columns, extra = columns_of_event(event)
    except BadLineError as error:
        raw = line[: RAW_CHARACTERS_MAX * 4].decode(errors="replace")[:RAW_CHARACTERS_MAX]
        detail = str(error)[:DETAIL_CHARACTERS_MAX]
        return Line(number, sequence, None, None, error.reason, detail, raw)
    if event["sequence"] != sequence:
        raise UntrustedSegmentError(
            "sequence",
            f"line {number} has sequence {event['sequence']} where {sequence} was expected",
        )
    return Line(number, sequence, json.dumps(columns, ensure_ascii=False), extra)
