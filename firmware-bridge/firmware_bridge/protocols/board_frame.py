"""The sensor board's own frame, and the acknowledgement that goes back to it.

Integers are big-endian; each frame is COBS-stuffed, between 0x00 bytes::

    version u8 = 1 | device u32 | boot u32 | sequence u32 | SenML-CBOR pack | crc16 u16
    kind u8 = 0x81 | device u32 | boot u32 | sequence u32 | crc16 u16        (acknowledgement)
    kind u8 = 0x82 | device u32 | boot u32 | request u32 | command u8 | argument u32 | crc16 u16
    kind u8 = 0x42 | device u32 | boot u32 | request u32 | code u8 | crc16 u16    (its answer)

The whole format, with an example, is in docs/formats/board-frame.md.
"""

import struct
from binascii import crc_hqx
from collections.abc import Sequence

from cobs import cobs  # type: ignore[import-untyped]

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.senml_pack import pack_of, read_pack
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity

FRAME_VERSION = 1
ACKNOWLEDGEMENT_KIND = 0x81
COMMAND_KIND = 0x82
ANSWER_KIND = 0x42

_HEAD = struct.Struct(">BIII")
_COMMAND = struct.Struct(">BI")
_CRC_BYTES = 2
_CRC_INITIAL = 0xFFFF  # CRC-16/CCITT-FALSE: polynomial 0x1021, nothing reflected.


def read_frame(stuffed: bytes) -> Frame:
    """Read the frame between two delimiters, and make its acknowledgement; or read an answer.

    Raises:
        Damaged: "cobs", "length", "checksum", "version", "sequence", and what `read_pack` raises.
    """
    kind, identity, pack = _unwrap(stuffed)
    if kind == ANSWER_KIND:
        if len(pack) != 1:
            raise Damaged("length")
        return Frame({}, identity=identity, answer_code=pack[0])
    if kind != FRAME_VERSION:
        raise Damaged("version")
    if identity.sequence == 0:
        raise Damaged("sequence")
    quantities: dict[str, list[Measurement]] = {}
    for measurement in read_pack(pack):
        quantities.setdefault(measurement.name, []).append(measurement)
    return Frame(quantities, identity=identity, acknowledgement=acknowledgement_of(identity))


def frame_bytes_of(identity: BoardIdentity, measurements: Sequence[Measurement]) -> bytes:
    """Return the bytes that a board sends, with their delimiters."""
    return _wrap(FRAME_VERSION, identity, pack_of(measurements))


def acknowledgement_of(identity: BoardIdentity) -> bytes:
    """Return the bytes that go back to the board, with their delimiters."""
    return _wrap(ACKNOWLEDGEMENT_KIND, identity, b"")


def read_acknowledgement(stuffed: bytes) -> BoardIdentity:
    """Read an acknowledgement between two delimiters, as a board does.

    Raises:
        Damaged: it is no acknowledgement.
    """
    kind, identity, rest = _unwrap(stuffed)
    if kind != ACKNOWLEDGEMENT_KIND or rest:
        raise Damaged("version")
    return identity


def command_bytes_of(identity: BoardIdentity, command: int, argument: int) -> bytes:
    """Return the bytes of a command, with their delimiters; `sequence` is the request's number."""
    return _wrap(COMMAND_KIND, identity, _COMMAND.pack(command, argument))


def read_command(stuffed: bytes) -> tuple[BoardIdentity, int, int]:
    """Read a command between two delimiters, as a board does: to whom, which, its argument.

    Raises:
        Damaged: it is no command.
    """
    kind, identity, rest = _unwrap(stuffed)
    if kind != COMMAND_KIND or len(rest) != _COMMAND.size:
        raise Damaged("version")
    command, argument = _COMMAND.unpack(rest)
    return identity, command, argument


def answer_bytes_of(identity: BoardIdentity, code: int) -> bytes:
    """Return the bytes with which a board answers a command, with their delimiters."""
    return _wrap(ANSWER_KIND, identity, bytes([code]))


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
