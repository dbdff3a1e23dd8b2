"""The zstd frame of a segment: which frames are unpacked, and which are refused before that."""

from __future__ import annotations

import tracemalloc

import pytest
from backports import zstd

from cloud_jobs.ingest.frame import UntrustedSegmentError, decompressed
from cloud_jobs.limits import SEGMENT_BYTES_MAX
from tests.contract.segments import compressed


def reason_of(content: bytes) -> str:
    with pytest.raises(UntrustedSegmentError) as refusal:
        decompressed(content)
    return refusal.value.reason


def test_a_bomb_is_refused_without_being_unpacked() -> None:
    bomb = compressed(b"\0" * 400_000_000)
    assert len(bomb) < 100_000
    tracemalloc.start()
    reason = reason_of(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reason == "too_large"
    assert peak < 4 * SEGMENT_BYTES_MAX


def test_a_frame_that_asks_for_a_huge_window_is_refused() -> None:
    parameters: dict[int, int] = {
        zstd.CompressionParameter.window_log: 27,
        zstd.CompressionParameter.checksum_flag: 1,
    }
    packer = zstd.ZstdCompressor(options=parameters)
    assert reason_of(packer.compress(b"x" * 100) + packer.flush()) == "too_large"


def test_text_of_the_largest_size_is_unpacked_and_one_byte_more_is_not() -> None:
    text = b"x" * SEGMENT_BYTES_MAX
    assert decompressed(compressed(text)) == text
    assert reason_of(compressed(text + b"x")) == "too_large"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda frame: frame[:-1], "cut"),
        (lambda frame: frame + b"x", "trailing_bytes"),
        (lambda frame: frame + frame, "trailing_bytes"),
        (lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]), "damaged"),
        (lambda frame: b"x" * 100, "not_zstd"),
        (lambda frame: b"", "cut"),
        (lambda frame: zstd.compress(b"text"), "no_checksum"),
    ],
)
def test_what_is_not_one_whole_frame_with_a_checksum_is_refused_with_its_reason(
    change: object, reason: str
) -> None:
    assert callable(change)
    assert reason_of(change(compressed(b"some text"))) == reason
