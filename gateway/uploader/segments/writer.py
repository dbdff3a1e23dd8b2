"""Writes a segment: appends lines to an unfinished file, which is then sealed.

Data passes through a streaming compressor directly into the file in log/open. Only the compressed
data is written to the SD card, and only once. The process needs only a few hundred kilobytes of
memory for a segment of any length. The zstd frame has a checksum. It has no content size, because
the size is unknown when the frame begins. Nothing is durable before `seal` returns, but the journal
still contains the events.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import orjson
from backports import zstd

from gateway.process.files.durable import fsync_folder, write_all
from gateway.uploader.segments.names import SegmentName, make_path
from gateway.uploader.segments.signature import SignedPart, Signer

FORMAT = "oncegate-session-log"
VERSION = 1

FOOTER_BYTES_MAX = 512
"""Maximum length of a footer: two 19-digit numbers, a count, a SHA-256 and their names take at most
190 bytes, key and signature 222."""

HEADER_BYTES_MAX = 1024
"""Maximum length of a header: a gateway id of 64 characters, two other ids, two numbers and a
SHA-256 take at most 400 bytes."""

_COMPRESSION: dict[int, int] = {
    # Levels 6 and 9 reduce the size by 11 and 15 % for 1.7 and 2.3 times the CPU time (measured).
    zstd.CompressionParameter.compression_level: 3,
    zstd.CompressionParameter.checksum_flag: 1,
}


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """The header of a segment: properties of all its events, and its position in the chain."""

    gateway: str
    boot: str
    store: str
    clock: str
    segment: int
    previous_sha256: str | None

    def line(self) -> bytes:
        return orjson.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "gateway": self.gateway,
                "boot": self.boot,
                "store": self.store,
                "segment": self.segment,
                "clock": self.clock,
                "previous_sha256": self.previous_sha256,
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )


class SegmentWriter:
    """An unfinished segment, to which lines of consecutive events are appended.

    `seal` completes the segment. It also signs it, unless `signer` is None.
    """

    def __init__(
        self,
        open_dir: Path,
        header: SegmentHeader,
        first_sequence: int,
        signer: Signer | None = None,
    ) -> None:
        self.header = header
        self.first_sequence = first_sequence
        self.count = 0
        self._signer = signer
        self._path = open_dir / f"{header.segment:08d}.jsonl.zst"
        self._compressor = zstd.ZstdCompressor(options=_COMPRESSION)
        self._lines_sha256 = hashlib.sha256()
        self._file_sha256 = hashlib.sha256()
        self._bytes = 0
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
        self._add(header.line())

    @property
    def next_sequence(self) -> int:
        return self.first_sequence + self.count

    def room(self, segment_bytes_max: int) -> int:
        """Return how many bytes of lines still fit into the segment, in addition to its footer.

        `segment_bytes_max` is the maximum size of the whole segment.
        """
        return segment_bytes_max - FOOTER_BYTES_MAX - self._bytes

    def append(self, lines: bytes, count: int) -> None:
        self._add(lines)
        self.count += count

    def seal(self, sealed_dir: Path) -> SegmentName:
        """Finish the file and move it to ``sealed_dir``. Afterwards the file is durable.

        After an `OSError`, the file might be in ``sealed_dir``, in log/open, or in neither. The
        next `Chain.load` restores a consistent state.
        """
        self._write(self._compressor.compress(self._footer()))
        self._write(self._compressor.flush())
        os.fsync(self._descriptor)
        self._close()
        name = SegmentName(
            gateway=self.header.gateway,
            boot=self.header.boot,
            segment=self.header.segment,
            first_sequence=self.first_sequence,
            last_sequence=self.next_sequence - 1,
            sha256=self._file_sha256.hexdigest(),
        )
        # Only the new name must be durable. If a power cut restores the old name, the next start
        # deletes the file in log/open anyway.
        path = make_path(sealed_dir, name)
        self._path.rename(path)
        fsync_folder(path.parent)
        return name

    def abandon(self) -> None:
        """Discard the unfinished segment. The journal still contains its events."""
        self._close()
        self._path.unlink(missing_ok=True)

    def _footer(self) -> bytes:
        sha256 = self._lines_sha256.hexdigest()
        footer: dict[str, int | str] = {
            "count": self.count,
            "first_sequence": self.first_sequence,
            "last_sequence": self.next_sequence - 1,
            "sha256": sha256,
        }
        if self._signer is not None:
            part = SignedPart(
                self.header.gateway,
                self.header.segment,
                self.first_sequence,
                self.next_sequence - 1,
                sha256,
            )
            footer["public_key"] = self._signer.public_key
            footer["signature"] = self._signer.signature_of(part)
        return orjson.dumps(footer, option=orjson.OPT_APPEND_NEWLINE)

    def _add(self, lines: bytes) -> None:
        self._lines_sha256.update(lines)
        self._bytes += len(lines)
        self._write(self._compressor.compress(lines))

    def _write(self, compressed: bytes) -> None:
        if compressed:
            self._file_sha256.update(compressed)
            write_all(self._descriptor, compressed)

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
