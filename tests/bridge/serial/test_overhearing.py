"""The text that people see for traffic on a Modbus line that other masters use."""

import pytest
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.serial.overhearing import Overhearing

from tests.bridge.protocols.test_modbus_rtu import closed

PUMP = Device(
    name="pump",
    address=5,
    registers=(
        Register(name="level", at=1, type="f32", unit="m"),
        Register(name="running", at=9, kind="coil"),
    ),
)
MODBUS = Modbus(devices=(PUMP,))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (closed(5, 3, 0, 1, 0, 2), "> pump: holding 1 to 2"),
        (closed(9, 4, 0, 7, 0, 1), "> 9: input 7"),
        (closed(0, 6, 0, 7, 1, 0), "> all: write holding 7 = 256"),
        (closed(9, 5, 0, 7, 0xFF, 0), "> 9: write coil 7 = 1"),
        (closed(9, 5, 0, 7, 0, 0), "> 9: write coil 7 = 0"),
        (closed(9, 16, 0, 7, 0, 2, 4, 0, 1, 0, 2), "> 9: write holding 7 to 8 = 1 2"),
        (closed(9, 15, 0, 7, 0, 3, 1, 5), "> 9: write coil 7 to 9 = 1 0 1"),
        (closed(5, 0x83, 2), "< pump: !! exception_2"),
        (closed(9, 3, 4, 0, 1, 0, 2), "< 9: holding = 1 2"),
    ],
)
def test_a_message_is_a_line_with_device_registers_and_values(message: bytes, text: str) -> None:
    assert Overhearing(MODBUS).read(message) == [text]


@pytest.mark.parametrize(
    ("request_sent", "answer", "text"),
    [
        (closed(5, 3, 0, 0, 0, 3), closed(5, 3, 6, 0, 9, 0x3F, 0xC0, 0, 0), "pump: level=1.5 m"),
        # Where no register has a name, or the response has another length, the text has the numbers
        # themselves.
        (closed(5, 3, 0, 2, 0, 2), closed(5, 3, 4, 0, 9, 0, 8), "pump: holding 2 to 3 = 9 8"),
        (closed(5, 3, 0, 1, 0, 2), closed(5, 3, 2, 0, 9), "pump: holding 1 to 2 = 9"),
        (closed(5, 3, 0, 1, 0, 2), closed(5, 3, 4, 0x7F, 0xC0, 0, 0), "pump: level=? not_measured"),
        (closed(5, 1, 0, 8, 0, 2), closed(5, 1, 1, 2), "pump: running=True"),
        (closed(9, 1, 0, 8, 0, 3), closed(9, 1, 1, 5), "9: coil 8 to 10 = 1 0 1"),
        (closed(9, 16, 0, 7, 0, 2, 4, 0, 1, 0, 2), closed(9, 16, 0, 7, 0, 2),
         "9: write holding 7 to 8"),
    ],
)  # fmt: skip
def test_an_answer_is_read_with_its_request_and_the_file_s_names(
    request_sent: bytes, answer: bytes, text: str
) -> None:
    reading = Overhearing(MODBUS)
    assert reading.read(request_sent + answer)[1:] == [f"< {text}"]
    assert (reading.frames, reading.damaged) == (2, 0)


def test_damage_is_marked_and_counted_and_a_silence_ends_what_has_begun() -> None:
    reading = Overhearing(None)
    request = closed(5, 3, 0, 1, 0, 2)
    assert reading.read(request + request[:-1] + b"\x00" + request) == [
        "> 5: holding 1 to 2",
        "!! checksum",
        "> 5: holding 1 to 2",
    ]
    assert reading.read(request[:6]) == []
    assert reading.read_silence() == ["!! truncated"]
    assert (reading.frames, reading.damaged) == (2, 2)
