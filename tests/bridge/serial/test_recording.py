"""Recordings of a line: a written file can be read, and a file that is not a recording is refused
by name."""

import pytest
from firmware_bridge.serial.recording import (
    Chunk,
    UnreadableRecording,
    chunks_of,
    head_of,
    line_of,
)

CHUNKS = [Chunk(0.0, b"\x00\xff"), Chunk(0.25, b"a=1\n"), Chunk(3.000001, bytes(range(256)))]
HEAD = head_of("/dev/ttyUSB0", "9600 8N1", 1_763_715_138_250)


def test_what_was_recorded_is_read_also_where_the_file_was_cut_off() -> None:
    lines = [HEAD, *map(line_of, CHUNKS)]
    assert list(chunks_of(lines)) == CHUNKS
    assert list(chunks_of([*lines[:-1], lines[-1][:40]])) == CHUNKS[:-1]
    assert list(chunks_of(lines[:1])) == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([b"GIF89a"], "not a recording of"),
        ([], "not a recording of"),
        ([b"[" * 100_000], "not a recording of"),
        ([b'{"oncegate_serial":2}\n'], "version 2, and 1 can be read"),
        ([HEAD, b'[1,"zz"]\n'], "line 2 is not"),
        ([HEAD, b'[NaN,"00"]\n'], "line 2 is not"),
        ([HEAD, b'[1%b,"00"]\n' % (b"0" * 400)], "line 2 is not"),
        ([HEAD, b'[2,"00"]\n', b'[1,"00"]\n'], "line 3 is earlier"),
    ],
)
def test_a_file_that_is_none_is_named(lines: list[bytes], sentence: str) -> None:
    with pytest.raises(UnreadableRecording, match=sentence):
        list(chunks_of(lines))
