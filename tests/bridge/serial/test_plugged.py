"""Ports of this machine, each with the configuration line that selects only this port."""

from pathlib import Path

import pytest
from firmware_bridge.serial import identity
from firmware_bridge.serial.plugged import ports_found
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo


def test_each_port_has_a_line_that_names_it_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = [
        ("ttyUSB0", 0x1A86, 0x7523, None),
        ("ttyUSB1", 0x1A86, 0x7523, None),
        ("ttyUSB2", 0x0403, 0x6001, "A1"),
        ("ttyUSB3", 0x0403, 0x6001, "B2"),
        ("ttyUSB4", 0x10C4, 0xEA60, "0001"),
        ("ttyUSB5", 0x10C4, 0xEA60, "0001"),
        ("ttyACM0", 0x2E8A, 0x000A, "E66"),
    ]
    (tmp_path / "by-path").mkdir()
    ports = []
    for name, vendor, product, number in known:
        (tmp_path / name).touch()
        (tmp_path / "by-path" / f"socket-of-{name}").symlink_to(tmp_path / name)
        port = ListPortInfo(str(tmp_path / name))
        port.vid, port.pid, port.serial_number = vendor, product, number
        ports.append(port)
    monkeypatch.setattr(identity, "LINKS", tmp_path)
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    found = {Path(each["path"]).name: each for each in ports_found()}
    by_path = tmp_path / "by-path"
    assert {name: each["toml"] for name, each in found.items()} == {
        "ttyUSB0": f'path = "{by_path}/socket-of-ttyUSB0"',
        "ttyUSB1": f'path = "{by_path}/socket-of-ttyUSB1"',
        "ttyUSB2": 'usb = "0403:6001:A1"',
        "ttyUSB3": 'usb = "0403:6001:B2"',
        "ttyUSB4": f'path = "{by_path}/socket-of-ttyUSB4"',
        "ttyUSB5": f'path = "{by_path}/socket-of-ttyUSB5"',
        "ttyACM0": 'usb = "2e8a:000a"',
    }
    assert found["ttyUSB0"]["by_path"] == f"{by_path}/socket-of-ttyUSB0"
