"""Decompresses a segment file (a zstd frame) with limited memory.

A file has exactly one complete frame, with a checksum.
"""

from __future__ import annotations

from typing import Final

from backports import zstd

from cloud_jobs.limits import SEGMENT_BYTES_MAX, WINDOW_BYTES_MAX

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


class UntrustedSegmentError(ValueError):
    """Error that causes a whole segment to be refused.

    `reason` is the category of the error. The message explains how to fix it.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def decompressed(content: bytes) -> bytes:
    """Return the unpacked bytes of a frame.

    Raises UntrustedSegmentError if the frame is invalid.
    """
    try:
        size_bytes = zstd.get_frame_info(content).decompressed_size
    except zstd.ZstdError as error:
        reason = "cut" if len(content) < 18 else "not_zstd"
        raise UntrustedSegmentError(
            reason, f"no zstd frame begins here ({error}): upload the segment again"
        ) from error
    # RFC 8878, 3.1.1.1: magic (4 bytes) | descriptor | window, unless it is a single-segment frame.
    descriptor = content[4]
    # A skippable frame (3.1.2) has another magic, a length at this place, and no checksum.
    if not content.startswith(_ZSTD_MAGIC) or not descriptor & 0x04:
        raise UntrustedSegmentError("no_checksum", "the zstd frame has no content checksum")
    if descriptor & 0x20:
        window_bytes = size_bytes or 0
    else:
        exponent, mantissa = divmod(content[5], 8)
        window_bytes = (1 << 10 + exponent) // 8 * (8 + mantissa)
    if window_bytes > WINDOW_BYTES_MAX:
        raise UntrustedSegmentError(
            "too_large",
            f"the zstd frame asks for a window of {window_bytes} bytes; "
            f"at most {WINDOW_BYTES_MAX} are given",
        )
    return _unpacked(content)


def _unpacked(content: bytes) -> bytes:
    frame = zstd.ZstdDecompressor()
    try:
        text = frame.decompress(content, SEGMENT_BYTES_MAX + 1)
    except zstd.ZstdError as error:
        raise UntrustedSegmentError(
            "damaged", f"the zstd frame is damaged ({error}): upload the segment again"
        ) from error
    if len(text) > SEGMENT_BYTES_MAX:
        raise UntrustedSegmentError(
            "too_large", f"more than {SEGMENT_BYTES_MAX} bytes when unpacked"
        )
    if not frame.eof:
        raise UntrustedSegmentError(
            "cut", f"the file ends inside the zstd frame, at byte {len(content)}: upload it again"
        )
    if frame.unused_data:
        raise UntrustedSegmentError("trailing_bytes", "bytes follow the zstd frame")
    return text
