"""`oncegate serial sniff` on a Modbus line of pymodbus's devices, polled by us or by another."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable
from pathlib import Path

import pytest
from pymodbus.client import AsyncModbusSerialClient
from pymodbus.exceptions import ModbusIOException
from pymodbus.framer import FramerType

from gateway.cli.main import run
from tests.bridge.modbus_devices import DisturbedLine, devices_behind
from tests.bridge.protocols.test_modbus_rtu import closed
from tests.bridge.terminal import Terminal
from tests.cli.serial.test_commands import send_when_opened

FILE = """\
[[serial]]
name = "rs485"
path = "{link}"
framing = "modbus"
line = "19200 8E1"
poll_interval = "50ms"
answer_timeout = "200ms"
[[serial.devices]]
name = "pump"
address = 5
registers = [
    {{ name = "speed", at = 0, unit = "1/min" }},
    {{ name = "temperature", at = 1, type = "i16", scale = 0.1, unit = "Cel" }},
    {{ name = "running", at = 0, kind = "coil" }},
]
[[serial.devices]]
name = "gone"
address = 30
registers = [{{ name = "level", at = 7 }}]
"""
UNITS = 'units = { speed = "rpm" }\n'
PUMP = {5: [1480, 65536 - 55, 1, 1]}


@pytest.fixture
def file(terminal: Terminal) -> Path:
    found = terminal.link.with_name("gateway.toml")
    found.write_text(FILE.format(link=terminal.link))
    return found


class Devices:
    """Modbus devices in a separate thread, because the command runs its own event loop."""

    def __init__(self, terminal: Terminal, directory: Path) -> None:
        self._terminal = terminal
        self._directory = directory
        self._is_ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self.line: DisturbedLine | None = None

    async def _serve(self) -> None:
        async with devices_behind(self._terminal, self._directory, PUMP) as self.line:
            self._is_ready.set()
            await self._stop.wait()

    def __enter__(self) -> DisturbedLine:
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self._thread.start()
        assert self._is_ready.wait(30)
        assert self.line is not None
        return self.line

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()


def sniffed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run(["serial", "sniff", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def texts(rows: list[str]) -> list[str]:
    """Return the texts to the right of the bytes."""
    return [row[79:] for row in rows[:-1] if row[79:]]


def test_devices_of_the_file_are_asked_and_requests_and_answers_shown_beside_their_bytes(
    file: Path, terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--config", str(file), "--port", "rs485", "--seconds", "2")
    with Devices(terminal, tmp_path):
        rows = sniffed(capsys, *options)
    found = texts(rows)
    assert set(found) == {
        "> pump: holding 0 to 1",
        "< pump  speed=1480 1/min  temperature=-5.5 Cel",
        "> pump: coil 0",
        "< pump  running=True",
        "> gone: holding 7",
        "< !! no_answer",
    }
    asked = found.index("> pump: holding 0 to 1")
    assert found[asked + 1].startswith("< pump  speed=1480")
    (request,) = {row[12:59].strip() for row in rows if row[79:] == "> pump: holding 0 to 1"}
    assert bytes.fromhex(request) == closed(5, 3, 0, 0, 0, 2)
    (answer,) = {row[12:59].strip() for row in rows if "speed=" in row}
    assert bytes.fromhex(answer) == closed(5, 3, 4, 0x05, 0xC8, 0xFF, 0xC9)
    frames = sum(each.startswith("< pump") for each in found)
    assert rows[-1] == f"{frames} frames, {found.count('< !! no_answer')} damaged"


def test_units_of_the_port_are_shown_in_place_of_those_of_its_protocol(
    file: Path, terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = file.read_text().replace("[[serial.devices]]", UNITS + "[[serial.devices]]", 1)
    file.write_text(written)
    with Devices(terminal, tmp_path):
        rows = sniffed(capsys, "--config", str(file), "--port", "rs485", "--seconds", "1")
    assert "< pump  speed=1480 rpm  temperature=-5.5 Cel" in texts(rows)


def test_a_connection_of_modbus_tcp_cannot_be_overheard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gateway.toml"
    written = FILE.format(link="x").replace('path = "x"', 'address = "modbus+tcp://192.0.2.7:502"')
    file.write_text(written.replace('line = "19200 8E1"\n', ""))
    arguments = ["serial", "sniff", "--config", str(file), "--port", "rs485", "--listen"]
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith(
        "modbus+tcp://192.0.2.7:502: a Modbus TCP connection carries no requests "
        "of others; leave out --listen"
    )


def test_an_answer_that_is_damaged_is_marked_beside_its_bytes(
    file: Path, terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Devices(terminal, tmp_path) as line:
        line.disturb = lambda answer: answer[:-1] + bytes((answer[-1] ^ 1,))
        rows = sniffed(capsys, "--config", str(file), "--port", "rs485", "--seconds", "1")
    assert "< !! checksum" in texts(rows)
    answers = {row[12:59].strip() for row in rows if "checksum" in row}
    # The coils are polled first, and damage does not affect other registers.
    assert {answer[:8] for answer in answers} == {"05 01 01", "05 03 04"}
    assert rows[-1].startswith("0 frames")


def test_who_only_listens_is_shown_what_another_asks_and_gets_and_sends_nothing(
    file: Path, terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bus = Bus(terminal, tmp_path)
    bus.start()
    try:
        named = sniffed(
            capsys, "--config", str(file), "--port", "rs485", "--listen", "--seconds", "1"
        )
        unnamed = sniffed(
            capsys, str(terminal.link), "--framing", "modbus", "--line", "19200 8E1", "-s", "1"
        )
    finally:
        bus.stop()
    assert bus.from_listener == b""
    assert {
        "> pump: holding 0 to 1",
        "< pump: speed=1480 1/min  temperature=-5.5 Cel",
        "> pump: write holding 2 = 77",
        "< pump: write holding 2 = 77",
        "> gone: holding 7",
        "< pump: !! exception_2",
    } <= set(texts(named))
    assert {"> 5: holding 0 to 1", "< 5: holding 0 to 1 = 1480 65481"} <= set(texts(unnamed))
    assert unnamed[-1].endswith(" 0 damaged")


def test_a_line_without_a_message_of_modbus_is_named_with_what_to_check(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    send_when_opened(terminal, b"T=21.5 C\n" * 9, monkeypatch)
    rows = sniffed(capsys, str(terminal.link), "--framing", "modbus", "-s", "0.2")
    assert rows[-1].startswith("0 frames, 0 damaged; is --line correct")


class Bus:
    """A bus with another master (pymodbus's client) and pymodbus's devices.

    The terminal is a third end of it.
    """

    def __init__(self, listener: Terminal, directory: Path) -> None:
        self._listener = listener
        self._master = Terminal(directory / "master")
        self._directory = directory
        self._stop = threading.Event()
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.from_listener = b""

    def start(self) -> None:
        self._thread.start()
        assert self._is_ready.wait(30)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._master.unplug()

    async def _serve(self) -> None:
        async with devices_behind(self._master, self._directory, PUMP) as line:
            line.overheard = self._overhear
            client = AsyncModbusSerialClient(
                str(self._master.link), framer=FramerType.RTU, timeout=0.3, retries=0
            )
            assert await client.connect()
            listening = asyncio.create_task(self._read_listener())
            while not self._stop.is_set():
                await self._ask(client, client.read_holding_registers(0, count=2, device_id=5))
                self._is_ready.set()
                await self._ask(client, client.write_register(2, 77, device_id=5))
                await self._ask(client, client.read_holding_registers(900, count=1, device_id=5))
                # No device has this address, so there is no response.
                await self._ask(client, client.read_holding_registers(7, count=1, device_id=30))
            listening.cancel()
            client.close()

    @staticmethod
    async def _ask(client: AsyncModbusSerialClient, asking: Awaitable[object]) -> None:
        with contextlib.suppress(ModbusIOException):
            await asking
        assert client.connected or await client.connect()

    def _overhear(self, data: bytes) -> None:
        self._listener.send(data)

    async def _read_listener(self) -> None:
        while True:
            self.from_listener += await self._listener.read()
