"""Sealed segments and the chain's state with valid checksums and invalid contents.

An input::

    kind u8 | actions, each: kind u8 | count u8 | arguments

The actions change the lines of a valid segment, or the text of a `chain.json`. The promises: what
is read matches the segment's name, number by number. Otherwise it is refused as damaged or as of a
later version. No other exception is raised.
"""

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import orjson
from backports import zstd

from gateway.uploader.segments.chain import Chain, Head
from gateway.uploader.segments.names import SegmentName
from gateway.uploader.segments.newer_format import NewerFormat
from gateway.uploader.segments.verify import DamagedSegment, Segment, segment_of
from tests.instruments.fuzz.byte_program import ByteProgram, records_of
from tests.instruments.fuzz.scratch import scratch_root

EVENTS: Final = 5
FIRST: Final = 41
BOOT: Final = "0f3a5c7e9b1d2f40"

Verify = Callable[[SegmentName, bytes], Segment]

_CHECKED: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}


def _lines() -> list[bytes]:
    header = {
        "format": "oncegate-session-log",
        "version": 1,
        "gateway": "gw-1",
        "boot": BOOT,
        "store": "77ab0011223344ff",
        "segment": 3,
        "clock": "synchronised",
        "previous_sha256": None,
    }
    events = [
        {"sequence": FIRST + index, "time": 1_760_000_000_000, "event": "broker_stopped"}
        for index in range(EVENTS)
    ]
    footer = {"count": EVENTS, "first_sequence": FIRST, "last_sequence": FIRST + EVENTS - 1}
    return [orjson.dumps(each) for each in (header, *events, footer)]


def _chain() -> bytes:
    head = {
        "gateway": "gw-1",
        "boot": BOOT,
        "segment": 3,
        "last_sequence": FIRST + EVENTS - 1,
        "sha256": "ab" * 32,
    }
    state = {"format": "oncegate-log-chain", "version": 1, "heads": [head], "boots": [BOOT]}
    return orjson.dumps(state)


class Text:
    """The lines of a file, which the actions change."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = [bytearray(line) for line in lines]
        self.frame_changes: list[tuple[int, int]] = []
        self.behind = b""

    def _line(self, program: ByteProgram) -> int:
        return program.byte() % len(self.lines)

    def drop(self, program: ByteProgram) -> None:
        if len(self.lines) > 1:
            del self.lines[self._line(program)]

    def repeat(self, program: ByteProgram) -> None:
        line = self._line(program)
        self.lines.insert(self._line(program), bytearray(self.lines[line]))

    def swap(self, program: ByteProgram) -> None:
        one, other = self._line(program), self._line(program)
        self.lines[one], self.lines[other] = self.lines[other], self.lines[one]

    def replace(self, program: ByteProgram) -> None:
        line = self.lines[self._line(program)]
        at, count = program.byte() % (len(line) + 1), program.byte() % 16
        line[at : at + count] = program.rest()

    def say(self, program: ByteProgram) -> None:
        self.lines[self._line(program)] = bytearray(program.rest())

    def change_frame(self, program: ByteProgram) -> None:
        self.frame_changes.append((program.byte() << 8 | program.byte(), program.byte()))

    def append(self, program: ByteProgram) -> None:
        self.behind = program.rest()


ACTIONS: Final = (
    Text.drop,
    Text.repeat,
    Text.swap,
    Text.replace,
    Text.say,
    Text.change_frame,
    Text.append,
)


def _changed(lines: list[bytes], data: bytes) -> Text:
    text = Text(lines)
    for record in records_of(data):
        if record:
            ACTIONS[record[0] % len(ACTIONS)](text, ByteProgram(record[1:]))
    return text


def check(data: bytes, verify: Verify = segment_of) -> None:
    """Change and read a file. Raise if a promise is broken."""
    if data[:1] and data[0] & 1:
        _check_chain(_changed([_chain()], data[1:]))
    else:
        _check_segment(_changed(_lines(), data[1:]), verify)


def _check_segment(text: Text, verify: Verify) -> None:
    data = _packed(text)
    sha256 = hashlib.sha256(data).hexdigest()
    name = SegmentName("gw-1", BOOT, 3, FIRST, FIRST + EVENTS - 1, sha256)
    try:
        segment = verify(name, data)
    except DamagedSegment:
        return
    found = [event.get("sequence") for event in segment.events]
    assert found == list(range(FIRST, FIRST + EVENTS)), f"accepted with sequences {found}"
    header = segment.header
    assert (header["gateway"], header["boot"], header["segment"]) == ("gw-1", BOOT, 3), header


def _packed(text: Text) -> bytes:
    """Return the lines as a frame.

    A footer that is JSON gets the right sha256 of the lines before.
    """
    *lines, footer = text.lines
    body = b"".join(bytes(line) + b"\n" for line in lines)
    try:
        closing = orjson.loads(footer)
    except orjson.JSONDecodeError:
        closing = None
    if isinstance(closing, dict):
        footer = bytearray(orjson.dumps(closing | {"sha256": hashlib.sha256(body).hexdigest()}))
    frame = bytearray(zstd.compress(body + footer + b"\n", options=_CHECKED))
    for at, bits in text.frame_changes:
        frame[at % len(frame)] ^= bits
    return bytes(frame) + text.behind


def _check_chain(text: Text) -> None:
    content = bytes(text.lines[0])
    with tempfile.TemporaryDirectory(prefix="fuzz-chain-", dir=scratch_root()) as directory:
        log_dir = Path(directory)
        checksum = hashlib.sha256(content).hexdigest().encode()
        path = log_dir / "chain.json"
        path.write_bytes(content + b"\n" + checksum + b"\n" + text.behind)
        chain = Chain(log_dir, "gw-1")
        try:
            chain.load()
        except NewerFormat:
            assert path.exists(), "a later version's state was set aside"
            return
        if chain.head is None:
            return
        _check_head(chain.head)
        assert all(isinstance(boot, str) for boot in chain.boots), f"boots {chain.boots}"
        assert chain.next_segment > 0
        assert chain.last_sequence >= 0


def _check_head(head: Head) -> None:
    texts = (head.gateway, head.boot, head.sha256)
    assert all(isinstance(each, str) for each in texts), f"accepted {head}"
    for number in (head.segment, head.last_sequence):
        assert type(number) is int, f"accepted {head}"
