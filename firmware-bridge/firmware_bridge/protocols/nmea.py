r"""The NMEA 0183 protocol: finds sentences in a stream that may contain damage and UBX frames.

::

    $GPGGA,214350,...,M,,*5A CR LF      '$' or '!', fields, '*', XOR of the bytes between, in hex
    B5 62 | class | id | length u16 LE | payload | checksum (2 bytes)                       (UBX)

Bytes outside sentences are skipped one by one up to the next possible start, so damage never
affects the next sentence. UBX is the binary protocol of u-blox receivers. Its frames are counted as
foreign bytes, not as damage. They are recognized by their checksum, never by their length alone.
"""

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from firmware_bridge.protocols.checksums import xor8
from firmware_bridge.protocols.frame import TYPE, Frame
from firmware_bridge.protocols.interface import Decoder, DecoderSettings

# The standard allows 82 bytes; proprietary sentences of real receivers reach several hundred.
SENTENCE_BYTES_MAX = 1024
# The largest UBX frames in use (RXM-RAWX with all signals) take about 3 KiB.
UBX_PAYLOAD_BYTES_MAX = 8192

_UBX_START = b"\xb5\x62"
_UBX_FRAME_BYTES = 8
# '$' always opens a sentence. A sentence has no control characters except TAB.
_SENTENCE = re.compile(rb"[$!][^$\r\n\x00-\x08\x0b-\x1f\x7f]*")
_NOISE = re.compile(rb"[^$!\r\n\xb5]+")
_TEXT = re.compile(rb"[\t\x20-\x7e]+")
_CHECKSUM = re.compile(rb"\*([0-9A-Fa-f]{2})")
_UNCHECKED = re.compile(rb"[$!][A-Za-z][A-Za-z0-9]{2,15}(,[\t\x20-\x7e]*)?")
# Maximum number of remembered addresses of sentences with a checksum. A device sends a few dozen.
CHECKED_ADDRESSES_MAX = 256
# Frames and sentences that may begin inside an invalid sentence.
_INNER_START = re.compile(rb"\xb5\x62|![A-Z]{5},")
# NMEA 4.10 TAG block, put before a sentence by some multiplexers.
_TAG_BLOCK = re.compile(rb"\\[^\\]{0,80}\\")


@dataclass(frozen=True, kw_only=True)
class Nmea(DecoderSettings):
    """Settings for devices that send NMEA 0183 sentences."""

    has_several: ClassVar = True
    descriptions: ClassVar = {
        "checksum_required": "Reject sentences without a checksum as damaged.",
    }

    checksum_required: bool = True

    def decoder(self) -> "NmeaDecoder":
        """Create a decoder for one serial line."""
        return NmeaDecoder(checksum_required=self.checksum_required)


class NmeaDecoder(Decoder):
    """Decoder of NMEA 0183 sentences.

    If `checksum_required` is False, a complete line without a checksum is also accepted. However,
    if an earlier sentence with the same address (such as `GPGGA`) had a checksum, the end of the
    line was probably lost. The line then counts as damaged. `tally.foreign` counts valid UBX frames
    as `ubx`, damaged UBX frames as `ubx_damaged`, and other binary data as `noise`.
    """

    def __init__(self, *, checksum_required: bool = True) -> None:
        # pynmeagps takes two MB of memory, which a gateway without such a sensor keeps free.
        from firmware_bridge.protocols.nmea_sentence import frame_of  # noqa: PLC0415

        super().__init__()
        self._frame_of = frame_of
        self._checksum_required = checksum_required
        self._checked_addresses: set[bytes] = set()
        self._buffer = b""
        # One damaged line is counted once, however many pieces it falls into.
        self._line_counted = False
        self._sums = _Sums(b"")

    def begin(self, *, mid_line: bool) -> None:
        """Discard bytes that were buffered when the port was closed.

        If the port is opened in the middle of a sentence, the checksum of this sentence will not
        match, so no special handling is needed.
        """
        if self._buffer:
            self._count("truncated")
        self._buffer = b""
        self._line_counted = False

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes. Return the sentences that are now complete, in order."""
        self._buffer += data
        return self._scan(idle=False)

    def flush(self) -> list[Frame]:
        """Return the complete sentences in the buffer. Called after a pause on the line.

        After a pause, the rest of an incomplete UBX frame is no longer expected. However, the bytes
        of this frame may contain sentences.
        """
        return self._scan(idle=True) if self._buffer else []

    def _scan(self, *, idle: bool) -> list[Frame]:
        frames: list[Frame] = []
        self._sums = _Sums(self._buffer)
        position, end = 0, len(self._buffer)
        while position < end:
            byte = self._buffer[position]
            if byte in b"\r\n":
                self._line_counted = False
                step = 1
            elif byte in b"$!":
                step = self._step_over_sentence(position, frames, idle=idle)
            elif byte == _UBX_START[0]:
                step = self._step_over_ubx(position, idle=idle)
            else:
                step = self._step_over_noise(position)
            if step == 0:
                break  # More bytes are needed to decide about this position.
            position += step
        self._buffer = self._buffer[position:]
        return frames

    def _step_over_sentence(self, position: int, frames: list[Frame], *, idle: bool) -> int:
        match = _SENTENCE.match(self._buffer, position)
        assert match is not None
        segment = match.group()
        open_ended = match.end() == len(self._buffer)
        if len(segment) > SENTENCE_BYTES_MAX:
            self._count("overlong")
            return self._resume_after(segment)
        body = _checked_body_of(segment)
        if open_ended and (body is None or not idle):
            return 0
        if body is not None:
            self._note_checked(body)
            frames.append(self._frame_with(segment[:1], body))
            return len(segment)
        at_line_end = not open_ended and self._buffer[match.end()] in b"\r\n"
        if at_line_end and self._is_sound_without_checksum(segment):
            frames.append(self._frame_with(segment[:1], segment[1:]))
            return len(segment)
        self._count(_damage_of(segment, at_line_end=at_line_end))
        return self._resume_after(segment)

    def _frame_with(self, start: bytes, body: bytes) -> Frame:
        frame = self._frame_of(start, body, self.tally.skipped)
        if skipped := self.kinds.keep(frame.quantities):
            self.tally.skipped[TYPE] += skipped
        return frame

    def _note_checked(self, body: bytes) -> None:
        if not self._checksum_required and len(self._checked_addresses) < CHECKED_ADDRESSES_MAX:
            self._checked_addresses.add(_address_of(body))

    def _is_sound_without_checksum(self, segment: bytes) -> bool:
        return (
            not self._checksum_required
            and _UNCHECKED.fullmatch(segment) is not None
            and b"*" not in segment
            and _address_of(segment[1:]) not in self._checked_addresses
        )

    def _step_over_ubx(self, position: int, *, idle: bool) -> int:
        buffer = self._buffer
        head = buffer[position : position + 6]
        if not head.startswith(_UBX_START[: len(head)]):
            return self._step_over_noise(position)
        payload_bytes = int.from_bytes(head[4:6], "little") if len(head) == 6 else 0
        if payload_bytes <= UBX_PAYLOAD_BYTES_MAX:
            frame_bytes = _UBX_FRAME_BYTES + payload_bytes
            end = position + frame_bytes
            if len(head) < 6 or len(buffer) < end:
                if not idle:
                    return 0
            elif self._sums.ubx_checksum(position + 2, end - 2) == buffer[end - 2 : end]:
                self.tally.foreign["ubx"] += 1
                self._line_counted = False
                return frame_bytes
        # The length is not reliable, so only the two start bytes are skipped.
        self.tally.foreign["ubx_damaged"] += 1
        self._line_counted = True
        return min(2, len(buffer) - position)

    def _step_over_noise(self, position: int) -> int:
        match = _NOISE.match(self._buffer, position)
        noise = match.group() if match else self._buffer[position : position + 1]
        if not _TEXT.fullmatch(noise):
            # These are bytes of some other binary protocol, or the rest of a damaged UBX frame.
            self.tally.foreign["noise"] += not self._line_counted
            self._line_counted = True
        elif not _TAG_BLOCK.fullmatch(noise):
            self._count("syntax")
        return len(noise)

    def _resume_after(self, segment: bytes) -> int:
        inner = _INNER_START.search(segment, 1)
        return inner.start() if inner else len(segment)

    def _count(self, reason: str) -> None:
        if not self._line_counted:
            self.tally.damaged[reason] += 1
        self._line_counted = True


def _checked_body_of(segment: bytes) -> bytes | None:
    """Return a sentence's bytes between '$' or '!' and '*', or None if the checksum is wrong."""
    # A '*' within the fields is not allowed, but may occur: the last '*' begins the checksum.
    for match in reversed(list(_CHECKSUM.finditer(segment))):
        body = segment[1 : match.start()]
        if xor8(body) == int(match.group(1), 16):
            return body
    return None


def _address_of(body: bytes) -> bytes:
    return body.partition(b",")[0]


def _damage_of(segment: bytes, *, at_line_end: bool) -> str:
    if _CHECKSUM.search(segment):
        return "checksum"
    return "no_checksum" if at_line_end and b"*" not in segment else "truncated"


class _Sums:
    """Running sums for computing the UBX checksum of any part of a buffer in constant time.

    Noise can contain many false starts of long UBX frames. Without these sums, thousands of bytes
    would be added up for each false start, and the event loop would be blocked for seconds. The
    checksum is a Fletcher checksum modulo 256.
    """

    def __init__(self, buffer: bytes) -> None:
        self._buffer = buffer
        self._firsts: list[int] = []
        self._seconds: list[int] = []

    def ubx_checksum(self, begin: int, end: int) -> bytes:
        """Return the UBX checksum of the bytes from `begin` up to but not including `end`."""
        if not self._firsts:
            # [i]: the sum of the first i bytes, and the sum of those sums.
            self._firsts = list(accumulate(self._buffer, initial=0))
            self._seconds = list(accumulate(self._firsts))
        before = self._firsts[begin]
        first = self._firsts[end] - before
        second = self._seconds[end] - self._seconds[begin] - (end - begin) * before
        return bytes((first & 0xFF, second & 0xFF))
