from __future__ import annotations

from pathlib import Path

import pytest
from backports import zstd

from gateway.uploader.segments.names import path_of
from gateway.uploader.segments.signature import Signer
from gateway.uploader.segments.verify import load_segment
from gateway.uploader.segments.writer import (
    FOOTER_BYTES_MAX,
    HEADER_BYTES_MAX,
    SegmentHeader,
    SegmentWriter,
)

LARGEST = SegmentHeader(
    gateway="g" * 64,
    boot="0" * 16,
    store="0" * 16,
    clock="unsynchronised",
    segment=10**18,
    previous_sha256="0" * 64,
)


@pytest.fixture
def writer(tmp_path: Path) -> SegmentWriter:
    for name in ("open", "sealed"):
        (tmp_path / name).mkdir()
    return SegmentWriter(tmp_path / "open", LARGEST, first_sequence=10**18)


def test_a_sealed_file_is_a_segment_with_the_name_of_its_contents(
    writer: SegmentWriter, tmp_path: Path
) -> None:
    lines = b"".join(b'{"sequence":%d}\n' % sequence for sequence in range(10**18, 10**18 + 3))
    writer.append(lines, 3)
    name = writer.seal(tmp_path / "sealed")
    segment = load_segment(path_of(tmp_path / "sealed", name))
    assert (segment.name.first_sequence, segment.name.last_sequence) == (10**18, 10**18 + 2)
    assert len(segment.events) == 3
    assert list((tmp_path / "open").iterdir()) == []


def test_what_fits_is_counted_with_the_largest_header_and_footer(writer: SegmentWriter) -> None:
    header_bytes = len(LARGEST.line())
    assert header_bytes <= HEADER_BYTES_MAX
    assert writer.room(1_000_000) == 1_000_000 - header_bytes - FOOTER_BYTES_MAX
    writer.append(b"x" * 1000, 1)
    assert writer.room(1_000_000) == 999_000 - header_bytes - FOOTER_BYTES_MAX
    writer.abandon()


def test_the_largest_signed_footer_fits_and_names_its_key(tmp_path: Path) -> None:
    for name in ("open", "sealed"):
        (tmp_path / name).mkdir()
    signer = Signer(bytes(32))
    writer = SegmentWriter(tmp_path / "open", LARGEST, 10**18, signer)
    writer.append(b'{"sequence":%d}\n' % 10**18, 1)
    path = path_of(tmp_path / "sealed", writer.seal(tmp_path / "sealed"))
    footer = zstd.decompress(path.read_bytes()).splitlines()[-1]
    # The count has 1 digit here, and at most 19.
    assert len(footer) + 1 + 18 <= FOOTER_BYTES_MAX
    assert load_segment(path).public_key == signer.public_key


def test_an_abandoned_segment_leaves_nothing_and_its_place_is_free(
    writer: SegmentWriter, tmp_path: Path
) -> None:
    with pytest.raises(FileExistsError):
        SegmentWriter(tmp_path / "open", LARGEST, first_sequence=1)
    writer.append(b"{}\n", 1)
    writer.abandon()
    writer.abandon()
    assert list(tmp_path.rglob("*.zst")) == []
    SegmentWriter(tmp_path / "open", LARGEST, first_sequence=1).abandon()
