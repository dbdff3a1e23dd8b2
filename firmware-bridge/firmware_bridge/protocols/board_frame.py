"""Frames that boards and the bridge exchange: readings, acknowledgements, commands and answers.

Each frame is COBS-stuffed and enclosed in 0x00 bytes. All integers are unsigned and big-endian:
u8, u16 and u32 have 8, 16 and 32 bits::

    kind u8 | device u32 | boot u32 | sequence u32 | content | crc16 u16

    kind 0x01    readings: a SenML-CBOR pack (the kind is also the format version)
         0x81    acknowledgement of readings: no content
         0x82    command: command u8, argument u32
         0x42    answer to a command: result code u8

In commands and answers, the sequence number is the number of the request.
docs/formats/board-frame.md describes the whole format, with an example.
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
    """Decode a frame of readings or an answer to a command.

    `stuffed` is the COBS-stuffed frame without its delimiters. The result for a frame of readings
    includes the acknowledgement to send.

    Raises:
        Damaged: if the frame is invalid. The reason is "cobs", "length", "checksum", "version" or
            "sequence", or a reason that `read_pack` gives.
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
    """Encode a frame of readings as a board would. The result includes the delimiters."""
    return _wrap(FRAME_VERSION, identity, pack_of(measurements))


def acknowledgement_of(identity: BoardIdentity) -> bytes:
    """Encode an acknowledgement of the frame with this identity, including the delimiters."""
    return _wrap(ACKNOWLEDGEMENT_KIND, identity, b"")


def read_acknowledgement(stuffed: bytes) -> BoardIdentity:
    """Decode an acknowledgement as a board would. Return the identity of the acknowledged frame.

    `stuffed` is the COBS-stuffed acknowledgement without its delimiters.

    Raises:
        Damaged: if the frame is damaged or is not an acknowledgement.
    """
    kind, identity, rest = _unwrap(stuffed)
    if kind != ACKNOWLEDGEMENT_KIND or rest:
        raise Damaged("version")
    return identity


def command_bytes_of(identity: BoardIdentity, command: int, argument: int) -> bytes:
    """Encode a command for a board. The result includes the delimiters.

    `identity` contains the numbers of the board and of its boot. Its `sequence` is the number of
    the request, which the board repeats in its answer.
    """
    return _wrap(COMMAND_KIND, identity, _COMMAND.pack(command, argument))


def read_command(stuffed: bytes) -> tuple[BoardIdentity, int, int]:
    """Decode a command as a board would. Return its identity, the command, and the argument.

    `stuffed` is the COBS-stuffed command without its delimiters. The `sequence` of the identity is
    the number of the request.

    Raises:
        Damaged: if the frame is damaged or is not a command.
    """
    kind, identity, rest = _unwrap(stuffed)
    if kind != COMMAND_KIND or len(rest) != _COMMAND.size:
        raise Damaged("version")
    command, argument = _COMMAND.unpack(rest)
    return identity, command, argument


def answer_bytes_of(identity: BoardIdentity, code: int) -> bytes:
    """Encode a board's answer to a command, including the delimiters.

    `identity` is the identity of the command, and `code` is the result code.
    """
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
