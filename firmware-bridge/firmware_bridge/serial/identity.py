"""Finds the device file that a port's settings currently refer to.

The path of a serial device can change when the device is unplugged and plugged in again. The
device's USB identity and its link in /dev/serial/by-id do not change. They are therefore resolved
to a path each time the port is opened. Adapters without a serial number, such as most CH340
adapters, all have the same identity. The links in /dev/serial/by-path distinguish them by the USB
socket that they are plugged into.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.settings import PortSettings

LINKS: Final = Path("/dev/serial")
"""Folder with udev's links to serial devices, by USB identity and by USB socket."""
NAMED_MAX: Final = 8
"""Largest number of devices that an error message names."""


def path_of(settings: PortSettings) -> str:
    """Return the path of a port's device file. A USB identity is looked up in sysfs.

    Raises:
        PortLost: if the USB identity matches no device, or more than one.
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
        fix = _selection_fix(
            [str(each.device) for each in found], [_number(each) for each in found]
        )
        raise PortLost(f"{len(found)} USB serial devices have the identity {settings.usb}; {fix}")
    return str(found[0].device)


def links_by(kind: str) -> dict[str, str]:
    """Return udev's links in the folder `kind` (`by-id` or `by-path`), keyed by device file.

    The result is empty if nothing is plugged in. If a device has two links (`usb-0:1.2` and
    `usbv2-0:1.2`), the link that comes first in alphabetical order is returned.
    """
    links = sorted((LINKS / kind).glob("*"), reverse=True)
    return {str(link.resolve()): str(link) for link in links}


def _number(port: ListPortInfo) -> str | None:
    return None if port.serial_number is None else str(port.serial_number)


def _selection_fix(devices: Sequence[str], numbers: Sequence[str | None]) -> str:
    """Return a text that explains how to select one of several devices with the same identity.

    `numbers` are the serial numbers of `devices`, with None for a device that has no serial number.
    """
    if None not in numbers and len({*numbers}) == len(numbers):
        shown = sorted(number for number in numbers if number is not None)[:NAMED_MAX]
        return f"name one by its serial number, VID:PID:SERIAL: {', '.join(shown)}"
    by_path: Mapping[str, str] = links_by("by-path")
    shown = sorted(by_path.get(device, device) for device in devices)[:NAMED_MAX]
    return (
        "their serial numbers are missing or equal; use path, which names the USB socket, instead "
        f"of usb: {', '.join(shown)}"
    )
