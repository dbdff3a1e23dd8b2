"""Meters that have to be polled are found on a real port."""

import asyncio
import tomllib

from firmware_bridge.protocols.frame import Frame
from firmware_bridge.serial.detecting import Guess
from firmware_bridge.serial.meter_search import poll_for_meter

from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.protocols.test_mbus_frame import ANSWER
from tests.bridge.running import port_on
from tests.bridge.serial.d0_meter import D0Meter
from tests.bridge.terminal import Terminal


async def polled(terminal: Terminal) -> list[tuple[str, Guess | None]]:
    return [
        (framing, guess) async for _, framing, guess in poll_for_meter(port_on(terminal, "nmea"))
    ]


async def test_a_meter_of_d0_answers_and_one_of_m_bus_does_not(terminal: Terminal) -> None:
    meter = asyncio.create_task(D0Meter(terminal).answer())
    found = dict(await polled(terminal))
    await meter
    assert found["mbus"] is None
    guess = found["d0"]
    assert guess is not None
    assert isinstance(guess.latest, Frame)
    assert guess.latest.quantities["energy_import"][0].value == 123.456
    assert (guess.sure, str(guess.line)) == (1.0, "300 7E1")


async def test_a_meter_of_m_bus_is_configured_by_its_number(terminal: Terminal) -> None:
    async def answer() -> None:
        heard = b""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not heard.endswith(bytes.fromhex("1040FE3E16")):
                heard += await terminal.read()
            terminal.send(b"\xe5")
            while not heard.endswith(bytes.fromhex("107BFE7916")):
                heard += await terminal.read()
        terminal.send(ANSWER)

    meter = asyncio.create_task(answer())
    found = dict(await polled(terminal))
    await meter
    assert found["d0"] is None
    guess = found["mbus"]
    assert guess is not None
    (table,) = tomllib.loads(guess.toml("heat", 'path = "/dev/ttyUSB0"'))["serial"]
    assert table["framing"] == "mbus"
    assert table["meters"] == [{"name": "meter", "secondary": "12345678"}]
