"""Verifies a sealed segment: name, checksums, header, footer and every sequence number.

If the footer contains a signature, it is verified too. The caller decides which key is expected,
and whether a signature is required.

If a segment is invalid, `DamagedSegment` is raised with the reason. The memory usage is limited for
any input, because a zstd frame is never decompressed beyond the format's limit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import orjson
from backports import zstd

from gateway.uploader.segments.names import SegmentName, segment_name_of
from gateway.uploader.segments.signature import BadSignature, SignedPart, signer_of
from gateway.uploader.segments.writer import FORMAT, VERSION
from gateway.uploader.settings import SEGMENT_BYTES_MAX

FILE_BYTES_MAX = SEGMENT_BYTES_MAX + (1 << 20)
"""Maximum size of a compressed file: zstd adds at most 0.4 % to incompressible data."""

_WINDOW_LOG_MAX = 27
"""Default limit of zstd decoders (128 MiB). The writer uses 2 MiB."""


class DamagedSegment(ValueError):
    """Error raised if a segment file is invalid, for example if it does not match its name.

    The message gives the reason.
    """


class UnknownVersion(DamagedSegment):
    """Error raised for an undamaged segment in a newer version of the format."""


@dataclass(frozen=True, slots=True)
class Segment:
    name: SegmentName
    header: dict[str, object]
    events: list[dict[str, object]]
    public_key: str | None = None
    """The public key that signed the segment, or None if it is not signed."""


def load_segment(path: Path) -> Segment:
    """Load and verify a segment.

    Raises `DamagedSegment` if the segment is invalid, and `OSError` if the file cannot be read.
    """
    name = segment_name_of(path.name)
    if name is None:
        raise DamagedSegment(f"{path.name} is no segment's name")
    return segment_of(name, load_segment_bytes(path))


def load_segment_bytes(path: Path) -> bytes:
    """Read the bytes of a segment and verify the SHA-256 in its name.

    Raises `DamagedSegment` if the SHA-256 differs, and `OSError` if the file cannot be read.
    """
    name = segment_name_of(path.name)
    if name is None:
        raise DamagedSegment(f"{path.name} is no segment's name")
    with path.open("rb") as file:
        data = file.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise DamagedSegment(f"more than {FILE_BYTES_MAX} bytes")
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != name.sha256:
        raise DamagedSegment(f"sha256 is {sha256}, its name has {name.sha256}")
    return data


def segment_of(name: SegmentName, data: bytes) -> Segment:
    """Parse the segment in ``data`` and verify it line by line.

    Raises `UnknownVersion` if a newer version wrote the segment, and `DamagedSegment` if the
    segment is invalid.
    """
    lines = _decompressed(data).split(b"\n")
    if lines.pop() != b"":
        raise DamagedSegment("the last line has no end")
    if len(lines) < 3:
        raise DamagedSegment(f"{len(lines)} lines, a segment has a header, an event and a footer")
    header = _record_of(lines[0], 1)
    version = header.get("version")
    if header.get("format") == FORMAT and isinstance(version, int) and version > VERSION:
        raise UnknownVersion(
            f"it has version {version} of the format, this version of Oncegate understands "
            f"{VERSION}: use the newer version"
        )
    header, *events, footer = (_record_of(line, number) for number, line in enumerate(lines, 1))
    place = {"gateway": name.gateway, "boot": name.boot, "segment": name.segment}
    _expect("header", header, {"format": FORMAT, "version": VERSION, **place})
    sha256 = hashlib.sha256(b"".join(line + b"\n" for line in lines[:-1])).hexdigest()
    numbers = {"first_sequence": name.first_sequence, "last_sequence": name.last_sequence}
    _expect("footer", footer, {"count": len(events), **numbers, "sha256": sha256})
    for sequence, event in enumerate(events, name.first_sequence):
        _expect(f"event {sequence}", event, {"sequence": sequence})
    if name.first_sequence + len(events) - 1 != name.last_sequence:
        raise DamagedSegment(f"{len(events)} events, its name has up to {name.last_sequence}")
    return Segment(name, header, events, _signer_of(name, footer, sha256))


def _signer_of(name: SegmentName, footer: dict[str, object], sha256: str) -> str | None:
    part = SignedPart(name.gateway, name.segment, name.first_sequence, name.last_sequence, sha256)
    try:
        return signer_of(footer, part)
    except BadSignature as problem:
        raise DamagedSegment(str(problem)) from None


def _decompressed(data: bytes) -> bytes:
    limits: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX}
    frame = zstd.ZstdDecompressor(options=limits)
    try:
        text = frame.decompress(data, SEGMENT_BYTES_MAX + 1)
    except zstd.ZstdError as problem:
        raise DamagedSegment(f"not a zstd frame: {problem}") from problem
    if len(text) > SEGMENT_BYTES_MAX:
        raise DamagedSegment(f"more than {SEGMENT_BYTES_MAX} bytes uncompressed")
    if not frame.eof or frame.unused_data:
        raise DamagedSegment("not one whole zstd frame")
    return text


def _record_of(line: bytes, number: int) -> dict[str, object]:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise DamagedSegment(f"line {number} is no JSON: {problem}") from problem
    if not isinstance(record, dict):
        raise DamagedSegment(f"line {number} is no JSON object")
    return record


def _expect(what: str, record: dict[str, object], expected: dict[str, object]) -> None:
    for key, value in expected.items():
        found = record.get(key)
        if type(found) is not type(value) or found != value:
            raise DamagedSegment(f"{what}: {key} is {found!r}, expected {value!r}")
