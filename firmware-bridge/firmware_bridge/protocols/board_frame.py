"""The sensor board's own frame, and the acknowledgement that goes back to it.

Integers are big-endian; each frame is COBS-stuffed and stands between 0x00 bytes::

    version u8 = 1 | device u32 | boot u32 | sequence u32 | SenML-CBOR pack | crc16 u16
    kind u8 = 0x81 | device u32 | boot u32 | sequence u32 | crc16 u16        (acknowledgement)

The whole format, with an example, is in docs/formats/board-frame.md.
"""

import struct
from binascii import crc_hqx
from collections.abc import Sequence

from cobs import cobs  # type: ignore[import-untyped]

from firmware_bridge.protocols.frame import (
    BoardIdentity,
    Damaged,
    Frame,
    Measurement,
    Tally,
)
from firmware_bridge.protocols.senml_pack import pack_of, read_pack

FRAME_VERSION = 1
ACKNOWLEDGEMENT_KIND = 0x81
# Stuffed bytes between two delimiters: what a small board can hold in RAM twice.
FRAME_BYTES_MAX = 1024

_HEAD = struct.Struct(">BIII")
_CRC_BYTES = 2
_CRC_INITIAL = 0xFFFF  # CRC-16/CCITT-FALSE: polynomial 0x1021, nothing reflected.


class BoardFraming:
    """Frames of any number of boards on one line, each with its `identity`."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._part = bytearray()
        self._skipping = False

    def begin(self, *, mid_line: bool) -> None:
        # A cut frame fails its CRC, so nothing is thrown away for `mid_line`.
        self._part.clear()
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        pieces = data.split(b"\x00")
        for piece in pieces[:-1]:
            self._take(piece)
            if self._part:
                self._read_frame(bytes(self._part), frames)
            self._part.clear()
            self._skipping = False
        self._take(pieces[-1])
        return frames

    def flush(self) -> list[Frame]:
        return []

    def _take(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._part) + len(piece) > FRAME_BYTES_MAX:
            self.tally.damaged["overlong"] += 1
            self._part.clear()
            self._skipping = True
            return
        self._part += piece

    def _read_frame(self, stuffed: bytes, frames: list[Frame]) -> None:
        try:
            frames.append(read_frame(stuffed))
        except Damaged as damage:
            self.tally.damaged[damage.reason] += 1


def read_frame(stuffed: bytes) -> Frame:
    """The frame between two delimiters; raises `Damaged`."""
    kind, identity, pack = _unwrap(stuffed)
    if kind != FRAME_VERSION:
        raise Damaged("version")
    if identity.sequence == 0:
        raise Damaged("sequence")
    quantities: dict[str, list[Measurement]] = {}
    for measurement in read_pack(pack):
        quantities.setdefault(measurement.name, []).append(measurement)
    return Frame(quantities, identity)


def frame_bytes_of(identity: BoardIdentity, measurements: Sequence[Measurement]) -> bytes:
    return _wrap(FRAME_VERSION, identity, pack_of(measurements))


def acknowledgement_of(identity: BoardIdentity) -> bytes:
    return _wrap(ACKNOWLEDGEMENT_KIND, identity, b"")


def read_acknowledgement(stuffed: bytes) -> BoardIdentity:
    """What a board does with the bytes between two delimiters; raises `Damaged`."""
    kind, identity, rest = _unwrap(stuffed)
    if kind != ACKNOWLEDGEMENT_KIND or rest:
        raise Damaged("version")
    return identity


def _wrap(kind: int, identity: BoardIdentity, pack: bytes) -> bytes:
    content = _HEAD.pack(kind, identity.device, identity.boot, identity.sequence) + pack
    stuffed: bytes = cobs.encode(content + crc_hqx(content, _CRC_INITIAL).to_bytes(2, "big"))
    return b"\x00" + stuffed + b"\x00"


def _unwrap(stuffed: bytes) -> tuple[int, BoardIdentity, bytes]:
    try:
        frame = cobs.decode(stuffed)
    except cobs.DecodeError:
        raise Damaged("cobs") from None
    if len(frame) < _HEAD.size + _CRC_BYTES:
        raise Damaged("length")
    content, crc = frame[:-_CRC_BYTES], frame[-_CRC_BYTES:]
    if crc_hqx(content, _CRC_INITIAL) != int.from_bytes(crc, "big"):
        raise Damaged("checksum")
    kind, device, boot, sequence = _HEAD.unpack_from(content)
    return kind, BoardIdentity(device, boot, sequence), content[_HEAD.size :]
