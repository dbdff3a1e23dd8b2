"""Any bytes of a sensor through a decoder of the bridge, to readings and to the status.

An input::

    framing u8 | piece u8 | piece u8 | bytes of the sensor

`board` reads the bytes directly, and also as the pack in a valid frame, because random bytes never
match a checksum. `answer` reads them as the code of a command's answer. `line_target.py` has the
readers that are not decoders.

The promises: no exception, the same frames for any split, and limited memory between two pieces.
Every frame gives readings that are JSON with finite numbers and times, and that can be displayed
and stored.
"""

import json
import math
from collections.abc import Callable
from typing import Final, NamedTuple

from cobs import cobs  # type: ignore[import-untyped]
from firmware_bridge.protocols.board import Board
from firmware_bridge.protocols.board_frame import answer_bytes_of, frame_bytes_of
from firmware_bridge.protocols.checksums import crc16_arc, crc16_x25
from firmware_bridge.protocols.csv_lines import CsvLines
from firmware_bridge.protocols.declared_field import FrameField
from firmware_bridge.protocols.declared_frames import DeclaredFrames
from firmware_bridge.protocols.dlms import Dlms
from firmware_bridge.protocols.dsmr import Dsmr
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.protocols.json_lines import JsonLines
from firmware_bridge.protocols.key_value import KeyValueLines
from firmware_bridge.protocols.mysensors import MySensors
from firmware_bridge.protocols.nmea import Nmea
from firmware_bridge.protocols.pattern_lines import PatternLines
from firmware_bridge.protocols.sml import Sml
from firmware_bridge.protocols.teleinfo import Teleinfo
from firmware_bridge.protocols.vedirect import VeDirect
from firmware_bridge.readings.measurement import TIME_SECONDS_MAX, Measurement
from firmware_bridge.readings.numbering import BoardIdentity, Numbering
from firmware_bridge.readings.publications import publications_of
from firmware_bridge.serial.status import PortStatus

from tests.instruments.fuzz import line_target
from tests.instruments.fuzz.byte_program import ByteProgram
from tests.instruments.fuzz.line_target import CONVERSATIONS, Conversation

ARRIVALS_SECONDS: Final = (1_763_715_138.25, 5.0)
"""An ordinary time, and the time of a clock that was never set."""

HEAD_BYTES: Final = 13
BUFFERED_BYTES_MAX: Final = 16 * 1024
"""Bytes that a framing may buffer between two pieces."""

IDENTITY: Final = BoardIdentity(42, 1, 1)


def wrapped(pack: bytes) -> bytes:
    """Return a frame around any pack, as a board would send it."""
    empty = cobs.decode(frame_bytes_of(IDENTITY, []).strip(b"\0"))
    content = empty[:HEAD_BYTES] + pack
    return b"\0" + bytes(cobs.encode(content + crc_of(content))) + b"\0"


def answered(data: bytes) -> bytes:
    """Return a board's answer to a command. The answer is valid if `data` is one byte."""
    content = answer_bytes_of(IDENTITY, 0).strip(b"\0")
    head = cobs.decode(content)[:HEAD_BYTES]
    return b"\0" + bytes(cobs.encode(head + data + crc_of(head + data))) + b"\0"


def crc_of(content: bytes) -> bytes:
    """Return the CRC-16/CCITT-FALSE."""
    crc = 0xFFFF
    for byte in content:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xFFFF
    return crc.to_bytes(2, "big")


def sml_file(messages: bytes) -> bytes:
    """Return an SML file around any messages, as a meter would send it."""
    fill = -len(messages) % 4
    steps = [(messages + bytes(fill))[at : at + 4] for at in range(0, len(messages), 4)]
    escaped = b"".join(step * 2 if step == b"\x1b" * 4 else step for step in steps)
    data = b"\x1b" * 4 + b"\x01" * 4 + escaped + b"\x1b" * 4 + bytes((0x1A, fill))
    return data + crc16_x25(data).to_bytes(2, "little")


def hdlc_frames(message: bytes) -> bytes:
    """Return HDLC frames around any notification, as a meter would push it."""
    message = b"\x0f\0\0\0\0\0" + message
    parts = [message[at : at + 500] for at in range(0, len(message), 500)]
    frames = b""
    for number, part in enumerate(parts):
        content = (b"" if number else b"\xe6\xe7\0") + part
        more = 0 if number == len(parts) - 1 else 0x0800
        head = (0xA000 | more | len(content) + 9).to_bytes(2) + b"\x03\x03\x13"
        content = head + crc16_x25(head).to_bytes(2, "little") + content
        frames += b"\x7e" + content + crc16_x25(content).to_bytes(2, "little") + b"\x7e"
    return frames


_DUST: Final = DeclaredFrames(
    start="42 4D",
    length_at=2,
    length_type="u16",
    length_adds=4,
    checksum="sum8",
    fields=(
        FrameField(name="a", at=4, type="i16", scale=0.1, offset=-40, unit="Cel"),
        FrameField(name="b", at=6, type="f32"),
    ),
)


class Kind(NamedTuple):
    """A framing, and the conversion of an input before it is decoded."""

    name: str
    make: Callable[[], Decoder]
    wire_of: Callable[[bytes], bytes]


def _as_it_is(data: bytes) -> bytes:
    return data


KINDS: Final = (
    Kind("board", Board().decoder, _as_it_is),
    Kind("pack", Board().decoder, wrapped),
    Kind("nmea", Nmea().decoder, _as_it_is),
    Kind("json", JsonLines().decoder, _as_it_is),
    Kind("key_value", KeyValueLines().decoder, _as_it_is),
    Kind("csv", CsvLines(columns=("a", "_", "b")).decoder, _as_it_is),
    Kind("pattern", PatternLines(pattern="(?P<a>[^ ]+) *(?P<b>.*)").decoder, _as_it_is),
    Kind("mysensors", MySensors().decoder, _as_it_is),
    Kind("dsmr", Dsmr().decoder, _as_it_is),
    Kind("telegram", Dsmr(crc=False).decoder, _as_it_is),
    Kind("sml", Sml().decoder, _as_it_is),
    Kind("messages", Sml().decoder, sml_file),
    Kind("frames", _DUST.decoder, _as_it_is),
    Kind("answer", Board().decoder, answered),
    Kind("teleinfo", Teleinfo().decoder, _as_it_is),
    Kind("vedirect", VeDirect().decoder, _as_it_is),
    Kind("dlms", Dlms().decoder, _as_it_is),
    Kind("notification", Dlms().decoder, hdlc_frames),
    Kind("encrypted", Dsmr(key_file="key").decoder, _as_it_is),
    Kind("unchecked", Nmea(checksum_required=False).decoder, _as_it_is),
)
CHOICES: Final[tuple[Kind | Conversation, ...]] = (*KINDS, *CONVERSATIONS)


def check(data: bytes, make: Callable[[Kind], Decoder] | None = None) -> None:
    """Decode an input, and raise if a promise is broken."""
    program = ByteProgram(data)
    kind = program.pick(CHOICES)
    if isinstance(kind, Conversation):
        for frame in kind.check(program):
            _check_frame(frame)
        return
    sizes = (program.byte() + 1, program.byte() + 1)
    wire = kind.wire_of(program.rest())
    made = kind.make if make is None else lambda: make(kind)
    whole = _frames(made(), [wire])
    assert _frames(made(), _pieces(wire, sizes)) == whole, f"{kind.name}: other frames in pieces"
    for frame in whole:
        _check_frame(frame)


def _pieces(wire: bytes, sizes: tuple[int, int]) -> list[bytes]:
    pieces: list[bytes] = []
    position = 0
    while position < len(wire):
        size = sizes[len(pieces) % 2]
        pieces.append(wire[position : position + size])
        position += size
    return pieces


def _frames(framing: Decoder, pieces: list[bytes]) -> list[Frame]:
    framing.begin(mid_line=False)
    frames: list[Frame] = []
    for piece in pieces:
        frames += framing.feed(piece)
        assert _buffered_bytes(framing) <= BUFFERED_BYTES_MAX, "more kept than a frame has"
    frames += framing.flush()
    assert all(count > 0 for count in framing.tally.damaged.values())
    json.dumps(framing.tally.damaged)
    return frames


def _buffered_bytes(framing: Decoder) -> int:
    kept = (found for name, found in vars(framing).items() if name in ("_part", "_buffer"))
    return sum(len(each) for each in kept)


def _check_frame(frame: Frame) -> None:
    if frame.answer_code is not None:
        assert frame.identity is not None
        assert not frame.quantities
        assert 0 <= frame.answer_code <= 255
        return
    assert frame.quantities or frame.skipped, "a frame without measurements"
    assert frame.contents_digest() == frame.contents_digest()
    for arrival_seconds in ARRIVALS_SECONDS:
        numbering = Numbering("device", 1, 1)
        status = PortStatus("port", "framing", "path")
        status.note(frame, numbering, arrival_seconds)
        json.dumps(status.devices["device"].as_json(None), allow_nan=False).encode()
        for publication in publications_of(
            frame.quantities, numbering, arrival_seconds=arrival_seconds, units={}
        ):
            publication.topic.encode()
            assert not set("+#\0") & set(publication.topic), publication.topic
            for record in json.loads(publication.payload, parse_constant=_refuse):
                _check_record(record)


def _check_record(record: dict[str, object]) -> None:
    json.dumps(record, ensure_ascii=False).encode()
    time_seconds = record["t"]
    assert isinstance(time_seconds, int | float)
    assert -(2**28) < time_seconds <= TIME_SECONDS_MAX, "no time"
    (value,) = [record[name] for name in ("v", "vs", "vb", "vd") if name in record]
    if isinstance(value, int | float):
        assert math.isfinite(value)
        assert abs(value) < 2**63 or isinstance(value, float)


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} in a payload")


def seeds() -> list[bytes]:
    """Return a valid input for each framing, and the special packs of earlier findings."""
    packs = (
        "81a4 006b74656d7065726174757265 016343656c 02c4822018d7 06c482213818",
        "81a2 0061 61 02c25803010203",
        "82a3 2165726f6f6d2e 220a 0061 61 a2 0061 62 03656f70656e",
        "9fbf 00 7f6161ff 02 fb4035800000000000 ffff",
        "81a3 0061 61 04f5 06fb426d1a94a2000000",
    )
    frame = frame_bytes_of(IDENTITY, [Measurement("temperature", 21.5, "Cel", -0.25)])
    sentence = b"$GPGGA,214350.00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*7B\r\n"
    lines = (
        b'{"temperature":21.5,"door":"open","fault":false}\n{"a":"\\ud83d\\ude00","b":null}\n',
        b"temperature=21.5 humidity=40;pressure=1013.2\r\ndoor=open\n",
        b'21.5,x,"open"\n1e3,,-4\n',
        b"21.5 open\nx\n",
        b"12;6;1;0;0;36.5\n12;255;3;0;0;93\n",
    )
    telegram = b"/ISk5\r\n\r\n0-0:1.0.0(170102192002W)\r\n1-0:1.7.0(00.244*kW)\r\n!"
    messages = bytes.fromhex(
        "760501020304620062007263070177010b0a01484c59020003a9100101"
        "7177070100010800ff0101621e52ff6502659be401010163000000"
    )
    dust = b"BM\x00\x07\x02\x67\x3d\xcc\xcc\xcd"
    return [
        bytes([0, 3, 6]) + frame * 2,
        *(bytes([1, 0, 9]) + bytes.fromhex(pack) for pack in packs),
        bytes([2, 5, 0]) + sentence + b"\xb5\x62\x01\x07\x00\x00\x08\x19" + sentence,
        *(bytes([3 + index, 4, 7]) + line for index, line in enumerate(lines)),
        bytes([8, 2, 9]) + telegram + b"%04X\r\n" % crc16_arc(telegram),
        bytes([9, 2, 9]) + telegram + b"\r\n",
        bytes([10, 7, 1]) + sml_file(messages),
        bytes([11, 7, 1]) + messages,
        bytes([12, 1, 1]) + dust + bytes((sum(dust) & 0xFF,)),
        bytes([13, 1, 1, 0]),
        bytes([14, 3, 2]) + b"\x02\nEAST\t015377101\t(\r\nPAPP 00750 -\r\x03",
        bytes([15, 3, 2]) + b"\r\nV\t12800\r\nLOAD\tON\r\nChecksum\t\x5f:A00\n",
        bytes([16, 5, 0]) + b"$IIMWV,30,T,1.85,M,A\r\n" + sentence,
        *(bytes([17 + at]) + each for at, each in enumerate(line_target.seeds())),
    ]
