"""The device file of a port, found by its USB identity."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.json_lines import JsonLines
from firmware_bridge.serial import identity
from firmware_bridge.serial.identity import path_of
from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.settings import PortSettings
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from tests.bridge.running import port_of


def usb_port(usb: str) -> PortSettings:
    return PortSettings("a", None, usb, "json", JsonLines())


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
    assert path_of(usb_port("2e8a:000A")) == "/dev/ttyACM0"
    assert path_of(usb_port("0403:6001:B2")) == "/dev/ttyUSB1"
    assert path_of(port_of("a", Path("/dev/x"), "json")) == "/dev/x"
    with pytest.raises(PortLost, match=r"2 USB serial devices .* VID:PID:SERIAL: A1, B2"):
        path_of(usb_port("0403:6001"))
    with pytest.raises(PortLost, match="no USB serial device 1234:5678"):
        path_of(usb_port("1234:5678"))


def test_adapters_without_serial_numbers_are_named_by_their_sockets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two CH340 adapters have the same identity; udev's links show the USB socket of each."""
    (tmp_path / "by-path").mkdir()
    devices = [tmp_path / f"ttyUSB{number}" for number in range(3)]
    for number, device in enumerate(devices):
        device.touch()
        if number < 2:
            (tmp_path / "by-path" / f"pci-usb-0:1.{number}:1.0-port0").symlink_to(device)
            (tmp_path / "by-path" / f"pci-usbv2-0:1.{number}:1.0-port0").symlink_to(device)
    monkeypatch.setattr(identity, "LINKS", tmp_path)
    links = [str(tmp_path / "by-path" / f"pci-usb-0:1.{number}:1.0-port0") for number in range(2)]
    for serial_number in (None, "0001"):
        _plug_in(
            monkeypatch,
            *((str(device), 0x1A86, 0x7523, serial_number) for device in devices),
        )
        with pytest.raises(PortLost) as lost:
            path_of(usb_port("1a86:7523"))
        assert str(lost.value) == (
            "3 USB serial devices have the identity 1a86:7523; their serial numbers are "
            "missing or equal; use path, which names the USB socket, instead of usb: "
            f"{', '.join([*links, str(devices[2])])}"
        )
