"""The UART on a Raspberry Pi's pin header. It is used either by the console or for a sensor."""

import os
from pathlib import Path

_NAMES = frozenset({"/dev/serial0", "/dev/ttyS0", "/dev/ttyS1", "/dev/ttyAMA0"})
"""Device names of the UART: on the SD card (ttyS1), in Raspberry Pi OS (ttyS0 or ttyAMA0, depending
on board and Bluetooth), and the link that always points to it."""

CARD_FIX = '[console] uart = "sensors" in gateway.toml on the boot partition gives it to sensors'


def is_header_uart(path: Path | None) -> bool:
    """Return True if a path is a device name of the UART on the pin header."""
    return path is not None and os.path.normpath(path) in _NAMES


def warning_about(path: Path, *, root: Path = Path("/")) -> str | None:
    """Return a warning if a console uses, or could use, the port `path`, otherwise None.

    A sensor cannot share a port with a console. If `path` names the UART on the pin header, and
    this machine has no such port, the configuration could be for the SD card's system. Its console
    uses this UART by default, so a warning is returned in this case too.

    `root` is the directory that contains `dev` and `sys`.
    """
    try:
        consoles = (root / "sys/class/tty/console/active").read_text().split()
    except OSError:
        consoles = []
    device = root / str(path).lstrip("/") if path.is_absolute() else path
    if Path(os.path.realpath(device)).name in consoles:
        return (
            f"{path} is this machine's console: kernel and login write to the sensor and read its "
            f"bytes. On the SD card {CARD_FIX}; elsewhere remove its console= from the kernel's "
            "command line and disable its serial-getty"
        )
    if is_header_uart(path) and not os.path.lexists(device):
        return f"{path} is the console on the SD card, unless {CARD_FIX}"
    return None
