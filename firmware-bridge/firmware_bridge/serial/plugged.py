"""Lists the serial ports of this machine, whether or not they are configured."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from serial.tools import list_ports

from firmware_bridge.serial.hints import hint_of, users_of
from firmware_bridge.serial.identity import links_by


def ports_found() -> Iterator[dict[str, Any]]:
    """Yield each serial port of this machine as JSON, with the gateway.toml line that selects it.

    If the port's USB identity is unique on this machine, the line contains only this identity. If
    several ports have the same identity, the line also contains the serial number. If the serial
    number is missing or not unique, the line contains the path of the USB socket instead.
    """
    by_id, by_path = links_by("by-id"), links_by("by-path")
    ports = sorted(list_ports.comports())
    identities = Counter((port.vid, port.pid) for port in ports)
    numbered = Counter((port.vid, port.pid, port.serial_number) for port in ports)
    users = users_of({port.device for port in ports})
    for port in ports:
        is_usb = port.vid is not None
        usb = f"{port.vid:04x}:{port.pid:04x}" if is_usb else None
        is_alone = identities[port.vid, port.pid] == 1
        is_known = numbered[port.vid, port.pid, port.serial_number] == 1
        own = f"{usb}:{port.serial_number}" if port.serial_number and is_known else None
        name = (usb if is_alone else own) if is_usb else None
        path = (by_path if is_usb else by_id).get(port.device, port.device)
        yield {
            "path": port.device,
            "by_id": by_id.get(port.device),
            "by_path": by_path.get(port.device),
            "usb": f"{usb}:{port.serial_number}" if usb and port.serial_number else usb,
            "description": None if port.description == "n/a" else port.description,
            "hint": hint_of(port.vid, port.pid),
            "in_use": users.get(port.device),
            "toml": f'usb = "{name}"' if name else f'path = "{path}"',
        }
