"""The protocols of meters and sensors that `make bench-serial` measures, with numbered frames.

Each frame or answer has a number, which is the value of one quantity. So a frame that was lost or
doubled is found by the readings that a subscriber received.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import xor

from firmware_bridge.protocols.checksums import crc16_modbus

from tests.bridge.protocols.dlms_meter import (
    WH,
    A,
    V,
    W,
    array,
    hdlc,
    notification,
    obis,
    scale,
    structure,
    text,
    time,
    u16,
    u32,
)
from tests.bridge.protocols.test_teleinfo import frame_of, standard
from tests.bridge.protocols.test_vedirect import block


@dataclass(frozen=True)
class Response:
    """The bytes that a device sends after a request."""

    data: bytes
    has_number: bool = True
    baud_rate: int | None = None
    """Rate of request and response if it is not the line's."""


Respond = Callable[[bytes, int], Response | None]
"""From the received bytes and the next number: the response, or None for a part of a request."""


@dataclass(frozen=True)
class Protocol:
    """A device of one protocol: what it sends, or how it responds."""

    keys: str
    """Its `[[serial]]` table without name and path; `{name}` is the device's name."""
    line: str
    counter: str
    """The quantity whose value is the number."""
    value_of_one: float
    """The counter's value for the number 1."""
    push: Callable[[int], bytes] | None = None
    respond: Respond | None = None

    @property
    def byte_seconds(self) -> float:
        """Time of a byte on the line, with start, parity and stop bits."""
        baud_rate, form = self.line.split()
        return (1 + int(form[0]) + (form[1] != "N") + int(form[2])) / int(baud_rate)

    def named_in(self, payload: bytes) -> tuple[int, int] | None:
        """Return device and number of a reading of the counter, or None for another reading."""
        record = json.loads(payload)[0]
        device, _, quantity = record["n"].partition("/")
        if quantity != self.counter:
            return None
        return int(device[1:]), round(record["v"] / self.value_of_one)


def teleinfo(number: int) -> bytes:
    return frame_of(
        standard("ADSC", "031428067114"),
        standard("EAST", f"{number:09}"),
        standard("IRMS1", "002"),
        standard("URMS1", "230"),
        standard("SINSTS", "00460"),
    )


def vedirect(number: int) -> bytes:
    return block(
        ("PID", "0xA053"), ("V", "12800"), ("I", "-150"), ("VPV", "18540"), ("PPV", "14"),
        ("CS", "3"), ("ERR", "0"), ("LOAD", "ON"), ("H19", str(number)), ("H20", "1"),
    )  # fmt: skip


def dlms(number: int) -> bytes:
    return hdlc(
        notification(
            array(
                structure(obis(1, 1, 0, 2, 129, 255), text("AIDON_V0001")),
                structure(obis(0, 0, 1, 0, 0, 255), time()),
                structure(obis(1, 0, 1, 7, 0, 255), u32(1255), scale(0, W)),
                structure(obis(1, 0, 32, 7, 0, 255), u16(2334), scale(-1, V)),
                structure(obis(1, 0, 31, 7, 0, 255), u16(27), scale(-1, A)),
                structure(obis(1, 0, 1, 8, 0, 255), u32(number), scale(0, WH)),
            )
        )
    )


def mbus(received: bytes, number: int) -> Response | None:
    """Respond as a water meter at address 2: volume in l, flow, temperature."""
    if len(received) < 5:
        return None
    if received[1] == 0x40:
        return Response(b"\xe5", has_number=False)
    head = bytes.fromhex("080272 78563412 2440 01 07 55 00 0000")
    content = head + b"\x04\x13" + struct.pack("<I", number) + bytes.fromhex("023B1301 025A1802")
    size = bytes((len(content),))
    return Response(b"h" + size + size + b"h" + content + bytes((sum(content) & 0xFF, 0x16)))


def d0(received: bytes, number: int) -> Response | None:
    """Identify the meter after a sign-on, and send the telegram after an acknowledgement."""
    if not received.endswith(b"\n"):
        return None
    if received.startswith(b"/?"):
        return Response(b"/ISk5MT174\r\n", has_number=False, baud_rate=300)
    objects = b"F.F(00)\r\n0.0.0(00123456)\r\n1.8.0(%07d.%03d*kWh)\r\n2.8.0(000001.000*kWh)\r\n"
    content = objects % divmod(number, 1000) + b"!\r\n\x03"
    return Response(b"\x02" + content + bytes((reduce(xor, content, 0),)))


def co2(received: bytes, number: int) -> Response | None:
    if len(received) < 9:
        return None
    content = struct.pack(">BBHBBBB", 0xFF, 0x86, number, 0, 0, 0, 0)
    return Response(content + bytes((-sum(content[1:]) & 0xFF,)))


def modbus(received: bytes, number: int) -> Response | None:
    """Respond with 230.0 in each pair of registers, and the number in 72 and 73."""
    if len(received) < 8:
        return None
    first, count = struct.unpack(">HH", received[2:6])
    registers = b"".join(
        struct.pack(">f", number if at == 72 else 230.0) for at in range(first, first + count, 2)
    )
    body = received[:2] + bytes((len(registers),)) + registers
    has_number = first <= 72 < first + count
    return Response(body + crc16_modbus(body).to_bytes(2, "little"), has_number)


PROTOCOLS = {
    "DLMS, pushed, 2400 8E1": Protocol('framing = "dlms"', "2400 8E1", "energy_import", 1, dlms),
    "Teleinfo, standard, 9600 7E1": Protocol(
        'framing = "teleinfo"', "9600 7E1", "energy_import", 1, teleinfo
    ),
    "VE.Direct, 19200 8N1": Protocol(
        'framing = "vedirect"', "19200 8N1", "yield_total", 0.01, vedirect
    ),
    "D0, asked each second, 300 and 9600 7E1": Protocol(
        'framing = "d0"\npoll_interval = "1s"', "9600 7E1", "energy_import", 0.001, respond=d0
    ),
    "M-Bus, asked each second, 2400 8E1": Protocol(
        'framing = "mbus"\npoll_interval = "1s"\n'
        '[[serial.meters]]\nname = "{name}"\naddress = 2',
        "2400 8E1", "water_volume", 0.001, respond=mbus,
    ),
    "MH-Z19, asked for bytes, 9600 8N1": Protocol(
        'framing = "frames"\npoll = "FF 01 86 00 00 00 00 00 79"\npoll_interval = "10ms"\n'
        'start = "FF 86"\nframe_bytes = 9\nchecksum = "sum8_negated"\nchecksum_from = 1\n'
        '[[serial.fields]]\nname = "co2"\nat = 2\ntype = "u16"\nunit = "ppm"',
        "9600 8N1", "co2", 1, respond=co2,
    ),
    "Modbus, `eastron.sdm120`, 9600 8N1": Protocol(
        'framing = "modbus"\npoll_interval = "10ms"\n'
        '[[serial.devices]]\nname = "{name}"\naddress = 1\ndevice = "eastron.sdm120"',
        "9600 8N1", "energy_import", 1, respond=modbus,
    ),
}  # fmt: skip
"""Each protocol with its device and line. A device that is asked responds when its line could."""
