"""The fields of a port in the bridge's report."""

import json
from pathlib import Path

from firmware_bridge.protocols.board_frame import frame_bytes_of
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity

from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port


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


async def test_the_status_has_the_units_that_the_operator_gave_the_port(
    terminal: Terminal, tmp_path: Path
) -> None:
    port = port_on(terminal, "key_value", units={"temperature": "Cel", "level": "m"})
    async with running_bridge(settings_of(tmp_path / "data", free_port(), port)) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"temperature=21.5 level=2 ph=7.1\n")
        await room.wait_until(lambda room: bool(room.port("sensor")["devices"]))
        (device,) = room.port("sensor")["devices"]
    units = {each["name"]: each["unit"] for each in device["quantities"]}
    assert units == {"temperature": "Cel", "level": "m", "ph": None}
