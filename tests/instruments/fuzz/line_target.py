"""Any bytes of a serial line through the readers that are not decoders: Modbus, Telnet, recordings.

`framing_target.py` calls these functions: its first byte chooses among them and its own framings.
The promises are the same for all: no exception other than the documented one, and the same result
for any split.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from functools import reduce
from operator import xor
from typing import Final, NamedTuple

from firmware_bridge.protocols.checksums import crc16_modbus
from firmware_bridge.protocols.d0 import D0
from firmware_bridge.protocols.frame import Frame, Outcome
from firmware_bridge.protocols.interface import Poller, Request
from firmware_bridge.protocols.mbus import MBus, MBusMeter
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.protocols.modbus_traffic import ModbusTraffic
from firmware_bridge.serial.overhearing import Overhearing
from firmware_bridge.serial.recording import (
    Chunk,
    UnreadableRecording,
    chunks_of,
    head_of,
    line_of,
)
from firmware_bridge.serial.telnet import SUBNEGOTIATION_BYTES_MAX, NotRfc2217, Telnet

from gateway.process.declarations.serial_line import Line
from tests.instruments.fuzz.byte_program import ByteProgram

REPLIES_BYTES_MAX: Final = 4096
"""Limit of a reply: each option is answered once, and the line's settings are requested once."""

_REGISTERS: Final = (
    (Register(name="a", at=0, type="i16", scale=0.1), Register(name="b", at=1, type="u16")),
    (Register(name="a", at=7, type="f32"),),
    (Register(name="a", at=0, kind="coil"), Register(name="b", at=1, kind="coil")),
    (Register(name="a", at=0, type="u64"),),
)


class Conversation(NamedTuple):
    """A reader that is not a decoder. `check` yields the frames that were read."""

    name: str
    check: Callable[[ByteProgram], Iterator[Frame]]


def check_modbus(program: ByteProgram) -> Iterator[Frame]:
    """Read an answer. In half of the inputs its head and its CRC are valid."""
    echo, little = program.byte() & 1, program.byte() & 1
    device = Device(name="pump", address=5, registers=program.pick(_REGISTERS))
    settings = Modbus(devices=(device,), echo=bool(echo), word_order="little" if little else "big")
    poller = settings.poller(Line())
    poller.begin(0.0)
    request = poller.next_step(10.0)
    assert isinstance(request, Request)
    is_closed, size = program.byte() & 1, program.byte() + 1
    answer = program.rest()
    if is_closed:
        content = bytes([5, request.data[1], len(answer) & 0xFF]) + answer
        answer = content + crc16_modbus(content).to_bytes(2, "little")
        answer = request.data * echo + answer
    answer = answer[: request.answer_bytes_max]
    outcome = _outcome_of(poller, answer, len(answer) or 1)
    assert not isinstance(outcome, Request)
    if isinstance(outcome, Frame):
        assert outcome.device == "pump"
        assert _outcome_of(poller, answer, size) == outcome, "another frame in pieces"
        yield outcome
    else:
        assert outcome.reason.isidentifier(), outcome
    poller.end(outcome, 11.0)
    assert all(each.device == "pump" for each in poller.unread())


def _outcome_of(poller: Poller, answer: bytes, size: int) -> Outcome | Request:
    """Read an answer as the port does: all bytes so far, until the poller decides."""
    for end in range(size, len(answer) + size, size):
        outcome = poller.read(answer[:end])
        if outcome is not None:
            return outcome
    return poller.time_out(answer)


def check_d0(program: ByteProgram) -> Iterator[Frame]:
    """Read a meter's data. Half of the inputs follow an identification and have a valid BCC."""
    poller = D0().poller(Line(300, 7, "E", 1))
    poller.begin(0.0)
    request = poller.next_step(0.0)
    assert isinstance(request, Request)
    is_signed_on, size = program.byte() & 1, program.byte() + 1
    answer = program.rest()
    if is_signed_on:
        following = poller.read(b"/ISk5MT174\r\n")
        assert isinstance(following, Request)
        request = following
        content = answer.replace(b"\x03", b"") + b"!\r\n\x03"
        answer = b"\x02" + content + bytes((reduce(xor, content, 0),))
    found = _outcome_of(poller, answer[: request.answer_bytes_max], size)
    assert all(count > 0 for count in poller.take_skipped().values())
    if isinstance(found, Frame):
        yield found
    elif not isinstance(found, Request):
        assert found.reason.isidentifier(), found


def check_mbus(program: ByteProgram) -> Iterator[Frame]:
    """Read an M-Bus meter's answer. Half of the inputs are values in a valid telegram."""
    poller = MBus(meters=(MBusMeter(name="heat", address=5),)).poller(Line(2400, 8, "E", 1))
    poller.begin(0.0)
    assert isinstance(poller.next_step(0.0), Request)
    request = poller.read(b"\xe5")
    assert isinstance(request, Request)
    is_sound, size = program.byte() & 1, program.byte() + 1
    answer = program.rest()
    if is_sound:
        header = bytes.fromhex("78563412 2440 01 07 55 00 0000")
        content = b"\x08\x05\x72" + header + answer[:200]
        answer = b"\x68" + bytes((len(content),)) * 2 + b"\x68" + content
        answer += bytes((sum(content) & 0xFF, 0x16))
    found = _outcome_of(poller, answer[: request.answer_bytes_max], size)
    assert all(count > 0 for count in poller.take_skipped().values())
    if isinstance(found, Frame):
        yield found
    elif not isinstance(found, Request):
        assert found.reason.isidentifier(), found


def check_telnet(program: ByteProgram) -> Iterator[Frame]:
    """Read a serial server's Telnet data."""
    size = program.byte() + 1
    data = program.rest()
    whole = _read_telnet([data])
    assert _read_telnet([data[at : at + size] for at in range(0, len(data), size)]) == whole
    quiet = Telnet(Line(), "none")
    assert quiet.feed(quiet.escape(data)) == data, "escaped data is what was given"
    yield from ()


def _read_telnet(pieces: list[bytes]) -> tuple[object, ...]:
    telnet = Telnet(Line(), "none")
    found = b""
    try:
        for piece in pieces:
            found += telnet.feed(piece)
            assert len(telnet._sub) <= SUBNEGOTIATION_BYTES_MAX
    except NotRfc2217 as refusal:
        return (str(refusal),)
    replies = telnet.take_replies()
    assert len(replies) <= REPLIES_BYTES_MAX
    assert telnet.is_set_up <= bool(telnet.confirmed)
    return found, replies, telnet.confirmed, telnet.errors, telnet.suspended


def check_recording(program: ByteProgram) -> Iterator[Frame]:
    """Read a file as a recording. Half of the inputs have the head of a recording."""
    head = [head_of("x", "9600 8N1", 0)] * (program.byte() & 1)
    lines = program.rest().splitlines(keepends=True)
    before = 0.0
    with contextlib.suppress(UnreadableRecording):
        for chunk in chunks_of(head + lines):
            assert math.isfinite(chunk.seconds)
            assert chunk.seconds >= before, "time goes on"
            before = chunk.seconds
            [again] = chunks_of([head_of("x", "9600 8N1", 0), line_of(chunk)])
            assert again.data == chunk.data
    yield from ()


def check_traffic(program: ByteProgram) -> Iterator[Frame]:
    """Overhear a line, in pieces and whole. In half of the inputs a CRC follows."""
    size, is_closed = program.byte() + 1, program.byte() & 1
    data = program.rest()
    if is_closed:
        data += crc16_modbus(data).to_bytes(2, "little")
    whole, pieces = ModbusTraffic(), ModbusTraffic()
    expected = whole.feed(data) + whole.flush()
    found = [each for at in range(0, len(data), size) for each in pieces.feed(data[at : at + size])]
    assert found + pieces.flush() == expected, "other messages in pieces"
    named = Overhearing(Modbus(devices=(Device(name="a", address=5, registers=_REGISTERS[0]),)))
    assert len(named.read(data) + named.read_silence()) == len(expected)
    yield from ()


CONVERSATIONS: Final = (
    Conversation("modbus", check_modbus),
    Conversation("traffic", check_traffic),
    Conversation("telnet", check_telnet),
    Conversation("recording", check_recording),
    Conversation("d0", check_d0),
    Conversation("mbus", check_mbus),
)


def seeds() -> tuple[bytes, ...]:
    """Return a valid input for each reader, without the byte that chooses the reader."""
    sub = bytes((255, 250, 44, 101, 0, 1, 194, 0, 255, 240))
    recording = line_of(Chunk(0.25, b"a=1\n")) + line_of(Chunk(3.0, b"\x00\xff"))
    return (
        bytes([0, 0, 0, 1, 3]) + b"\x00\x01\xff\xfe",
        bytes([3, 1, 5, 3, 0, 0, 0, 2]),
        bytes([2]) + bytes((255, 253, 44, 255, 251, 0)) + b"a=\xff\xff1\n" + sub,
        b"\x01" + recording,
        b"\x01\x05F.F(00)\r\n1.8.0(000123.4*kWh)\r\n",
        b"\x01\x07" + bytes.fromhex("0313153100 DA023B1301 8B6004371802"),
    )
