"""Serial ports as people meet them: lost, found, shared, silent, rubbish."""

import asyncio
import json
import logging
import os
import struct
import termios
from binascii import crc_hqx
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cobs import cobs  # type: ignore[import-untyped]
from firmware_bridge import backoff
from firmware_bridge.protocols.board_frame import (
    acknowledgement_of,
    frame_bytes_of,
    read_acknowledgement,
)
from firmware_bridge.protocols.frame import BoardIdentity, Measurement
from firmware_bridge.protocols.text import json_line
from firmware_bridge.serial import port
from firmware_bridge.serial.identity import path_of
from firmware_bridge.serial.link import PortLost, SerialLink
from firmware_bridge.settings import LineSettings, PortSettings
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.running import running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port


def port_on(terminal: Terminal, framing: Any, **others: Any) -> PortSettings:
    return PortSettings("sensor", str(terminal.link), None, framing, **others)


def board_frame(sequence: int, value: float = 21.5, boot: int = 1) -> bytes:
    return frame_bytes_of(
        BoardIdentity(42, boot, sequence), [Measurement("temperature", value, "Cel")]
    )


async def acknowledgements(terminal: Terminal, count: int) -> list[int]:
    found: list[int] = []
    part = b""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while len(found) < count:
            *frames, part = (part + await terminal.read()).split(b"\x00")
            found += [read_acknowledgement(frame).sequence for frame in frames if frame]
    return found


@pytest.mark.parametrize(
    ("framing", "others", "line"),
    [
        ("json", {}, b'{"temperature":21.5}\n'),
        ("key_value", {}, b"temperature=21.5\n"),
        ("csv", {"columns": ("temperature",)}, b"21.5\n"),
    ],
)
async def test_a_line_of_text_becomes_a_reading(
    framing: str, others: dict[str, Any], line: bytes, subscriber: Subscriber, terminal: Terminal
) -> None:
    port = port_on(terminal, framing, units={"temperature": "Cel"}, device="kettle", **others)
    directory = terminal.link.parent / "data"
    async with running_bridge(settings_of(directory, subscriber.port, port)) as room:
        await room.wait_for_port("sensor", "open")
        await room.wait_until(lambda room: room.status["mqtt"]["connected"])
        await terminal.write(line)
        await subscriber.arrival_of(1)
        await room.wait_until(lambda room: bool(room.port("sensor")["devices"]))
        shown = room.port("sensor")["devices"][0]
    (record,) = subscriber.records()
    assert record.pop("t") > 1.7e9
    # A new outbox begins to count its starts at a number of its own.
    boot = record.pop("boot")
    assert 2**31 < boot < 2**32
    assert record == {
        "topic": "sensors/kettle/temperature",
        "n": "kettle/temperature",
        "u": "Cel",
        "v": 21.5,
        "device": "kettle",
        "sequence": 1,
    }
    assert (shown["device"], shown["boot"], shown["sequence"]) == ("kettle", boot, 1)
    assert shown["quantities"][0]["value"] == 21.5


async def test_a_board_is_answered_once_its_frame_is_durable_and_again_when_it_repeats(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "board")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(board_frame(1) + board_frame(2)[:-4] + board_frame(3))
        assert await acknowledgements(terminal, 2) == [1, 3]
        await terminal.write(board_frame(1) + board_frame(2) + board_frame(3))
        assert sorted(await acknowledgements(terminal, 3)) == [1, 2, 3]
        await room.wait_until(lambda room: room.port("sensor")["duplicates"] == 2)
        assert sum(room.port("sensor")["damaged"].values()) == 1
        await subscriber.arrival_of(3)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(board_frame(2) + board_frame(1, boot=2))
        assert sorted(await acknowledgements(terminal, 2)) == [1, 2]
        await subscriber.arrival_of(4)
    numbers = [(record["boot"], record["sequence"]) for record in subscriber.records()]
    assert numbers == [(1, 1), (1, 3), (1, 2), (2, 1)]


async def test_a_board_flashed_again_loses_no_reading_and_is_named(
    subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "board")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        for life, frames in ((1, 1000), (2, 1002)):
            for first in range(1, frames, 16):
                some = range(first, min(first + 16, frames + 1))
                await terminal.write(b"".join(board_frame(n, life + n / 4096) for n in some))
                await acknowledgements(terminal, len(some))
        await subscriber.arrival_of(2002)
        # A report may have been made between two readings.
        await room.wait_until(
            lambda room: [each["sequence"] for each in room.port("sensor")["devices"]] == [1002]
        )
        (device,) = room.port("sensor")["devices"]
        assert device["boot"] == 1 + 2**32
        assert room.port("sensor")["repeated_starts"] == 1
        assert room.port("sensor")["duplicates"] == 0
    numbers = [(record["boot"], record["sequence"]) for record in subscriber.records()]
    assert numbers == [
        *((1, n) for n in range(1, 1001)),
        *((1 + 2**32, n) for n in range(1, 1003)),
    ]
    assert caplog.text.count("board-0000002a counts from the beginning again in its start 1") == 1


async def test_lines_are_numbered_anew_at_each_start_of_the_bridge(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "json")
    )
    for start in (1, 2):
        async with running_bridge(settings) as room:
            await room.wait_for_port("sensor", "open")
            await terminal.write(b'{"a":1}\n{"a":2}\n')
            await subscriber.arrival_of(2 * start)
    numbers = [(record["boot"], record["sequence"]) for record in subscriber.records()]
    first = numbers[0][0]
    assert numbers == [(first, 1), (first, 2), (first + 1, 1), (first + 1, 2)]


async def test_a_lost_port_is_told_once_and_recovers_without_a_restart(
    subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "json")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"a":1}\n{"a":')
        await subscriber.arrival_of(1)
        terminal.unplug()
        await room.wait_for_port("sensor", "lost")
        terminal.plug_in()
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"a":2}\n')
        await subscriber.arrival_of(2)
        await room.wait_until(lambda room: len(room.observations) == 3)
    assert [each["event"] for each in room.observations] == [
        "serial_port_found",
        "serial_port_lost",
        "serial_port_found",
    ]
    assert {each["port"] for each in room.observations} == {"sensor"}
    assert [record["v"] for record in subscriber.records()] == [1, 2]
    lost = [line for line in caplog.messages if "trying again" in line]
    assert len(lost) <= 2, "the loss, and at most one line for the path that is not there"


async def test_a_port_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    port = PortSettings("sensor", str(tmp_path / "later"), None, "json")
    async with running_bridge(settings_of(tmp_path / "data", free_port(), port)) as room:
        await room.wait_until(lambda room: "later" in str(room.port("sensor").get("trouble")))
        assert room.port("sensor")["state"] == "waiting"
        terminal = Terminal(tmp_path / "later")
        await room.wait_for_port("sensor", "open")
        assert room.port("sensor")["trouble"] is None
        terminal.unplug()


async def test_readings_wait_on_disk_while_there_is_no_broker(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    directory = terminal.link.parent / "data"
    port = port_on(terminal, "key_value")
    async with running_bridge(settings_of(directory, free_port(), port)) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"".join(b"a=%d\n" % n for n in range(500)))
        await room.wait_until(lambda room: room.status["outbox"]["waiting"] == 500)
        assert not room.status["mqtt"]["connected"]
    async with running_bridge(settings_of(directory, subscriber.port, port)):
        await subscriber.arrival_of(500)
    assert [record["v"] for record in subscriber.records()] == list(range(500))


async def test_a_full_outbox_makes_boards_wait_and_counts_what_lines_lose(
    terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line_terminal = Terminal(tmp_path / "line")
    ports = (
        port_on(terminal, "board"),
        PortSettings("line", str(line_terminal.link), None, "key_value"),
    )
    settings = settings_of(tmp_path / "data", free_port(), *ports, outbox_bytes_max=65536)
    async with running_bridge(settings) as room:
        await room.wait_for_port("line", "open")
        await room.wait_for_port("sensor", "open")
        await line_terminal.write(b"".join(b"a=%d\n" % n for n in range(1000)))
        await room.wait_until(lambda room: bool(room.port("line")["dropped"]))
        await room.wait_until(lambda room: room.port("line")["frames"] == 1000)
        lost = room.port("line")["dropped"]["outbox_full"]
        assert lost + room.port("line")["readings"] == 1000
        stored = room.status["outbox"]["waiting"]
        # The frame that comes first is still taken up; then the port is not read any more.
        await terminal.write(board_frame(1))
        await acknowledgements(terminal, 1)
        await terminal.write(board_frame(2) * 100)
        await room.wait_until(lambda room: room.status["outbox"]["waiting"] == stored + 1)
        assert room.port("sensor")["frames"] == 1
    assert caplog.text.count("the outbox is full") == 1
    assert caplog.text.count("readings are dropped") == 1
    line_terminal.unplug()


async def test_rubbish_for_ever_neither_fills_the_log_nor_the_memory(
    terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(tmp_path / "data", free_port(), port_on(terminal, "board"))
    rubbish = os.urandom(256 * 1024)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        lines = len(caplog.messages)
        await terminal.write(rubbish)
        await room.wait_until(lambda room: room.port("sensor")["bytes"] == len(rubbish))
        assert sum(room.port("sensor")["damaged"].values()) > 100
        assert len(caplog.messages) <= lines + 1
        assert room.port("sensor")["readings"] == 0
        await terminal.write(board_frame(1))
        assert await acknowledgements(terminal, 1) == [1]


async def test_an_integer_of_any_length_from_a_board_ends_nothing(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "board")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        content = struct.pack(">BIII", 1, 42, 1, 1) + cbor2.dumps([{0: "a", 2: 10**400}])
        frame = cobs.encode(content + crc_hqx(content, 0xFFFF).to_bytes(2, "big"))
        await terminal.write(b"\x00" + frame + b"\x00" + board_frame(2))
        assert await acknowledgements(terminal, 1) == [2]
        await subscriber.arrival_of(1)
        await room.wait_until(lambda room: room.port("sensor")["damaged"] == {"value": 1})
        assert room.port("sensor")["failures"] == 0


async def test_an_error_of_one_port_ends_its_reading_and_touches_no_other(
    subscriber: Subscriber,
    terminal: Terminal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def defective_line(line: str) -> dict[str, Measurement]:
        if "poison" in line:
            raise ArithmeticError("a planted defect")
        return json_line(line)

    monkeypatch.setattr(port, "json_line", defective_line)
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(port, "FAILURE_BACKOFF_SECONDS_MAX", 0.02)
    other = Terminal(tmp_path / "line")
    ports = (
        port_on(terminal, "json"),
        PortSettings("other", str(other.link), None, "key_value"),
    )
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, *ports)) as room:
        await room.wait_for_port("other", "open")
        for number in range(1, 4):
            await room.wait_for_port("sensor", "open")
            await terminal.write(b'{"a":%d}\n' % number)
            await subscriber.arrival_of(2 * number - 1)
            await terminal.write(b'{"a":"poison"}\n')
            await room.wait_until(lambda room, n=number: room.port("sensor")["failures"] == n)  # type: ignore[misc]
            await other.write(b"a=%d\n" % -number)
            await subscriber.arrival_of(2 * number)
        await room.wait_for_port("sensor", "open")
        assert room.port("other")["failures"] == 0
    assert [record["v"] for record in subscriber.records()] == [1, -1, 2, -2, 3, -3]
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1, "once, however often it comes"
    assert errors[0].exc_info is not None
    assert "a planted defect" in caplog.text
    other.unplug()


async def test_a_line_that_floods_keeps_no_other_from_its_turn(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    other = Terminal(tmp_path / "line")
    ports = (port_on(terminal, "nmea"), PortSettings("other", str(other.link), None, "key_value"))
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, *ports)) as room:
        await room.wait_for_port("sensor", "open")
        await room.wait_for_port("other", "open")
        flood = asyncio.create_task(flood_of(terminal))
        try:
            for number in range(1, 21):
                await other.write(b"a=%d\n" % number)
                await subscriber.arrival_of(number)
            await room.wait_until(lambda room: room.port("sensor")["bytes"] > 300_000)
        finally:
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
    assert [record["v"] for record in subscriber.records()] == list(range(1, 21))
    other.unplug()


async def flood_of(terminal: Terminal) -> None:
    while True:
        await terminal.write(b"\xb5\x62\x01\x07\x00\x20" * 700)


async def test_the_status_fits_its_limit_whatever_the_sensors_send(
    terminal: Terminal, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path / "data", free_port(), port_on(terminal, "board"))
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        for device in range(100):
            measurements = [Measurement(f"{'q' * 8}{n}", "\u20ac" * 20) for n in range(10)]
            frame = frame_bytes_of(BoardIdentity(device, 1, 1), measurements)
            await terminal.write(frame)
        await room.wait_until(lambda room: room.port("sensor")["frames"] == 100)
        assert 0 < len(json.dumps(room.status)) <= 64 * 1024
        assert room.port("sensor")["devices"]


def test_a_port_has_one_reader(terminal: Terminal) -> None:
    link = SerialLink(str(terminal.link), LineSettings())
    with pytest.raises(PortLost, match="used by another program"):
        SerialLink(str(terminal.link), LineSettings())
    link.close()
    SerialLink(str(terminal.link), LineSettings()).close()


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        (LineSettings(), termios.CS8),
        (LineSettings(9600, 7, "E", 1), termios.CS7 | termios.PARENB),
        (LineSettings(4800, 7, "O", 2), termios.CS7 | termios.PARENB | termios.PARODD
         | termios.CSTOPB),
        (LineSettings(19200, 8, "N", 2), termios.CS8 | termios.CSTOPB),
    ],
    ids=["115200 8N1", "9600 7E1", "4800 7O2", "19200 8N2"],
)  # fmt: skip
def test_the_line_is_set_as_configured(
    line: LineSettings, flags: int, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_attributes = termios.tcsetattr
    asked: list[int] = []

    def observed(descriptor: int, when: int, attributes: Any) -> None:
        asked.append(attributes[2])
        set_attributes(descriptor, when, attributes)

    monkeypatch.setattr(termios, "tcsetattr", observed)
    link = SerialLink(str(terminal.link), line)
    _, _, control, _, input_speed, output_speed, _ = terminal.attributes()
    link.close()
    of_line = termios.CSIZE | termios.PARENB | termios.PARODD | termios.CSTOPB
    assert [each & of_line for each in asked] == [flags]
    # A pseudo-terminal takes rate, stop bits and PARODD, and keeps 8 bits without parity (the
    # kernel's pty_set_termios), so that the rest shows only in what was asked of it.
    taken = termios.PARODD | termios.CSTOPB
    assert control & taken == flags & taken
    speed = getattr(termios, f"B{line.baud_rate}")
    assert (input_speed, output_speed) == (speed, speed)


def test_an_acknowledgement_that_cannot_be_written_is_no_error(terminal: Terminal) -> None:
    link = SerialLink(str(terminal.link), LineSettings())
    acknowledgement = acknowledgement_of(BoardIdentity(42, 1, 1))
    while link.write(acknowledgement):
        pass
    link.close()
    assert not link.write(acknowledgement)


def _plug_in(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, int, int, str | None]) -> None:
    ports = []
    for device, vendor, product, number in found:
        port = ListPortInfo(device)
        port.vid, port.pid, port.serial_number = vendor, product, number
        ports.append(port)
    monkeypatch.setattr(list_ports, "comports", lambda: ports)


def test_a_usb_device_is_found_by_its_identity_under_any_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _plug_in(
        monkeypatch,
        ("/dev/ttyUSB0", 0x0403, 0x6001, "A1"),
        ("/dev/ttyUSB1", 0x0403, 0x6001, "B2"),
        ("/dev/ttyACM0", 0x2E8A, 0x000A, None),
    )
    assert path_of(PortSettings("a", None, "2e8a:000A", "json")) == "/dev/ttyACM0"
    assert path_of(PortSettings("a", None, "0403:6001:B2", "json")) == "/dev/ttyUSB1"
    assert path_of(PortSettings("a", "/dev/x", None, "json")) == "/dev/x"
    with pytest.raises(PortLost, match=r"2 USB serial devices .* VID:PID:SERIAL: A1, B2"):
        path_of(PortSettings("a", None, "0403:6001", "json"))
    with pytest.raises(PortLost, match="no USB serial device 1234:5678"):
        path_of(PortSettings("a", None, "1234:5678", "json"))
