"""Simulated devices of each protocol, on pseudo-terminals and on TCP."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from tests.bridge.protocols.dlms_meter import AIDON, hdlc
from tests.bridge.protocols.test_mbus_frame import ANSWER
from tests.bridge.serial.d0_meter import D0Meter
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port

INPUTS = Path(__file__).parents[1] / "bridge" / "protocols" / "inputs"
CO2_REQUEST = bytes.fromhex("FF0186000000000079")
SENT_EACH_SECONDS = 0.5

TABLES = """
[[serial]]
name = "p1"
path = "{p1}"
framing = "dsmr"
line = "115200 8N1"

[[serial]]
name = "d0"
path = "{d0}"
framing = "d0"
poll_interval = "1s"

[[serial]]
name = "han"
path = "{han}"
framing = "dlms"

[[serial]]
name = "linky"
path = "{linky}"
framing = "teleinfo"
line = "9600 7E1"

[[serial]]
name = "solar"
path = "{solar}"
framing = "vedirect"
line = "19200 8N1"

[[serial]]
name = "heat"
path = "{heat}"
framing = "mbus"
poll_interval = "1s"

[[serial.meters]]
name = "water-meter"
address = 2

[[serial]]
name = "office"
path = "{office}"
framing = "frames"
line = "9600 8N1"
poll = "FF 01 86 00 00 00 00 00 79"
poll_interval = "1s"
start = "FF 86"
frame_bytes = 9
checksum = "sum8_negated"
checksum_from = 1

[[serial.fields]]
name = "co2"
at = 2
type = "u16"
unit = "ppm"

[[serial]]
name = "rs485"
address = "modbus+tcp://127.0.0.1:{modbus}"
framing = "modbus"
poll_interval = "1s"

[[serial.devices]]
name = "house"
address = 1
device = "eastron.sdm120"
"""


def co2_answer(ppm: int) -> bytes:
    content = struct.pack(">BBHBBBB", 0xFF, 0x86, ppm, 0, 0, 0, 0)
    return content + bytes((-sum(content[1:]) & 0xFF,))


class Cabinet:
    """Devices and their ports. `tables` is the `[[serial]]` part of the bridge's configuration."""

    def __init__(self, directory: Path) -> None:
        names = ("p1", "d0", "han", "linky", "solar", "heat", "office")
        self.terminals = {name: Terminal(directory / name) for name in names}
        self._modbus_port = free_port()
        links = {name: str(each.link) for name, each in self.terminals.items()}
        self.tables = TABLES.format(**links, modbus=self._modbus_port)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run the devices, which send and answer within this context."""
        sent = {
            "p1": (INPUTS / "p1-belgium.txt").read_bytes(),
            "han": hdlc(AIDON),
            "linky": (INPUTS / "linky-standard.bin").read_bytes(),
            "solar": (INPUTS / "vedirect.bin")
            .read_bytes()
            .partition(b"\r\nPID\t0xA053\r\nV\t928")[0],
        }
        async with await asyncio.start_server(_answer_modbus, "127.0.0.1", self._modbus_port):
            tasks = [
                *(asyncio.create_task(self._send(name, data)) for name, data in sent.items()),
                asyncio.create_task(self._repeat(D0Meter(self.terminals["d0"]).answer)),
                asyncio.create_task(self._repeat(self._answer_mbus)),
                asyncio.create_task(self._repeat(self._answer_co2)),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                for terminal in self.terminals.values():
                    terminal.unplug()

    async def _send(self, name: str, data: bytes) -> None:
        terminal = self.terminals[name]
        while True:
            with contextlib.suppress(OSError):  # it is unplugged
                terminal.send(data)
            await asyncio.sleep(SENT_EACH_SECONDS)

    async def _repeat(self, answer: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await answer()
            except (OSError, TimeoutError):
                await asyncio.sleep(SENT_EACH_SECONDS)

    async def _answer_mbus(self) -> None:
        terminal = self.terminals["heat"]
        request = await terminal.read()
        terminal.send(b"\xe5" if request[1:2] == b"\x40" else ANSWER)

    async def _answer_co2(self) -> None:
        terminal = self.terminals["office"]
        if CO2_REQUEST in await terminal.read():
            terminal.send(co2_answer(612))


async def _answer_modbus(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer Modbus requests: each pair of registers contains the number 230.0."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            request = await reader.readexactly(12)
            first, count = struct.unpack(">HH", request[8:12])
            pair = struct.pack(">f", 230.0)
            registers = b"".join(
                pair[:2] if each % 2 == 0 else pair[2:] for each in range(first, first + count)
            )
            body = bytes((request[6], request[7], len(registers))) + registers
            writer.write(request[:4] + len(body).to_bytes(2) + body)
            await writer.drain()
    writer.close()
