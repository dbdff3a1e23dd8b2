"""Lookup of the device file that a port's settings refer to at this moment.

A serial device comes back under another path after it was unplugged; its USB identity and the
links in /dev/serial/by-id stay the same, so they are looked up at each opening. Of adapters without
a serial number (most CH340) all have one identity: the links in /dev/serial/by-path name the socket
that each is plugged into.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.settings import PortSettings

LINKS: Final = Path("/dev/serial")
"""udev's links to serial devices, by their USB identity and by their place."""
NAMED_MAX: Final = 8
"""Devices that an error names, at most."""


def path_of(settings: PortSettings) -> str:
    """Find the device file of a port; sysfs is read for USB identities.

    Raises:
        PortLost: there is not exactly one such device.
    """
    if settings.path is not None:
        return settings.path
    assert settings.usb is not None, "settings give path or usb"
    vendor, product, *rest = settings.usb.split(":", 2)
    wanted = (int(vendor, 16), int(product, 16))
    serial_number = rest[0] if rest else None
    found = [
        port
        for port in list_ports.comports()
        if (port.vid, port.pid) == wanted
        and (serial_number is None or port.serial_number == serial_number)
    ]
    if not found:
        raise PortLost(f"no USB serial device {settings.usb} is plugged in")
    if len(found) > 1:
        mend = _distinguished(
            [str(each.device) for each in found], [_number(each) for each in found]
        )
        raise PortLost(f"{len(found)} USB serial devices are {settings.usb}; {mend}")
    return str(found[0].device)


def links_by(kind: str) -> dict[str, str]:
    """Return udev's links of a kind, `by-id` or `by-path`, by the device file that each names.

    The folder is absent where nothing is plugged in. Of two links to a device (`usb-0:1.2` and
    `usbv2-0:1.2`) the first is returned.
    """
    links = sorted((LINKS / kind).glob("*"), reverse=True)
    return {str(link.resolve()): str(link) for link in links}


def _number(port: ListPortInfo) -> str | None:
    return None if port.serial_number is None else str(port.serial_number)


def _distinguished(devices: Sequence[str], numbers: Sequence[str | None]) -> str:
    """Return how to name one of several devices with one identity."""
    if None not in numbers and len({*numbers}) == len(numbers):
        shown = sorted(number for number in numbers if number is not None)[:NAMED_MAX]
        return f"name one by its serial number, VID:PID:SERIAL: {', '.join(shown)}"
    by_path: Mapping[str, str] = links_by("by-path")
    shown = sorted(by_path.get(device, device) for device in devices)[:NAMED_MAX]
    return (
        "they have no serial numbers that differ; use path, which names the USB socket, in place "
        f"of usb: {', '.join(shown)}"
    )
