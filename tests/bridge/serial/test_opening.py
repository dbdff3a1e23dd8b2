"""Opening a port from its settings."""

from pathlib import Path

import pytest
from firmware_bridge.serial.link import PortLost, SerialLink
from firmware_bridge.serial.opening import open_port

from tests.bridge.running import port_of, port_on
from tests.bridge.terminal import Terminal


async def test_a_device_file_is_opened_and_a_missing_one_is_named(
    terminal: Terminal, tmp_path: Path
) -> None:
    link = await open_port(port_on(terminal, "json"))
    assert isinstance(link, SerialLink)
    link.close()
    with pytest.raises(PortLost, match="absent"):
        await open_port(port_of("a", tmp_path / "absent", "json"))
