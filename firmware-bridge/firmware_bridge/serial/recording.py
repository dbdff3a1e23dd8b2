"""Recordings of a serial line: bytes with their arrival times.

::

    {"oncegate_serial":1,"source":"/dev/ttyUSB0","line":"9600 8N1","begun_ms":1763715138250}
    [0.000125,"244750474741..."]     seconds since the beginning, bytes as hexadecimal digits

A recording is JSON lines, so a truncated file is valid up to its last complete line. The format is
specified in docs/formats/serial-recording.md.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

VERSION = 1
# Longest line read. A chunk is the result of one read of a port: at most 4 KiB, or 8 Ki digits.
LINE_BYTES_MAX = 64 * 1024


class UnreadableRecording(ValueError):
    """Raised if a file is not a valid recording. The message is written for the operator."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that arrived together, `seconds` after the start of the recording."""

    seconds: float
    data: bytes


def head_of(source: str, line: str, begun_ms: int) -> bytes:
    """Return the first line of a recording: its version, source, line settings and start time."""
    head = {"oncegate_serial": VERSION, "source": source, "line": line, "begun_ms": begun_ms}
    return json.dumps(head, separators=(",", ":")).encode() + b"\n"


def line_of(chunk: Chunk) -> bytes:
    """Return a chunk as a line of a recording."""
    return b'[%.6f,"%b"]\n' % (chunk.seconds, chunk.data.hex().encode())


def chunks_of(lines: Iterable[bytes]) -> Iterator[Chunk]:
    """Check the first line of a recording, and return an iterator over the recording's chunks.

    Raises:
        UnreadableRecording: if the lines are not a recording, or have an unknown version. The
            iterator raises it if a later line is invalid. An incomplete last line is ignored.
    """
    iterator = iter(lines)
    _check_head(next(iterator, b""))
    return _chunks_after_head(iterator)


def _chunks_after_head(lines: Iterator[bytes]) -> Iterator[Chunk]:
    before = 0.0
    for number, line in enumerate(lines, 2):
        if line.endswith(b"\n"):
            chunk = _chunk_of(line, number)
            if chunk.seconds < before:
                raise UnreadableRecording(f"line {number} is earlier than the one before it")
            before = chunk.seconds
            yield chunk


def _check_head(line: bytes) -> None:
    try:
        version = json.loads(line[:LINE_BYTES_MAX])["oncegate_serial"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UnreadableRecording(
            "this is not a recording of `oncegate serial record`: line 1 has no oncegate_serial"
        ) from None
    if version != VERSION:
        raise UnreadableRecording(f"it is of version {version!r}, and {VERSION} can be read")


def _chunk_of(line: bytes, number: int) -> Chunk:
    try:
        seconds, digits = json.loads(line[:LINE_BYTES_MAX])
        if not 0 <= float(seconds) < float("inf"):
            raise ValueError
        return Chunk(float(seconds), bytes.fromhex(digits))
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise UnreadableRecording(
            f'line {number} is not [SECONDS,"HEX"], as a recording has them'
        ) from None
