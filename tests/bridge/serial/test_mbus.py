"""An M-Bus meter on a real port, from the master's request to the reading."""

import asyncio
from pathlib import Path

from firmware_bridge.protocols.mbus import MBus, MBusMeter
from firmware_bridge.serial.settings import PortSettings

from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.protocols.test_mbus_frame import ANSWER
from tests.bridge.running import running_bridge, settings_of
from tests.bridge.terminal import Terminal


async def test_a_meter_is_selected_asked_and_published_under_its_name(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    meters = (MBusMeter(name="water", secondary="12345678"),)
    settings = MBus(meters=meters, answer_timeout=DEADLINE_SECONDS)
    port = PortSettings("mbus", str(terminal.link), None, "mbus", settings, line=MBus.default_line)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        async with asyncio.timeout(DEADLINE_SECONDS):
            heard = b""
            while len(heard) < 17:
                heard += await terminal.read()
            terminal.send(b"\xe5")
            while len(heard) < 22:
                heard += await terminal.read()
            terminal.send(ANSWER)
        await subscriber.arrival_of(7)
        await room.wait_until(lambda room: room.port("mbus").get("frames") == 1)
        (shown,) = room.port("mbus")["devices"]
    assert heard[17:] == bytes.fromhex("107BFD7816")
    records = {each["topic"]: each.get("v") for each in subscriber.records()}
    assert records["sensors/water/water_volume"] == 12.565
    assert shown["device"] == "water"
