"""Which device file a port's settings mean at this moment.

A serial device comes back under another path after it was unplugged; its USB identity and the
links in /dev/serial/by-id stay the same, so they are looked up at each opening.
"""

from serial.tools import list_ports

from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.settings import PortSettings


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
        numbers = ", ".join(sorted(str(port.serial_number) for port in found))
        raise PortLost(
            f"{len(found)} USB serial devices are {settings.usb}; "
            f"name one by its serial number, VID:PID:SERIAL: {numbers}"
        )
    return str(found[0].device)
