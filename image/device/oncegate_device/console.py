"""The header's UART: the console's, or sensors' (`[console] uart` in gateway.toml).

The boot script reads a mark on the boot partition, /usr/lib/oncegate-device/provision a file of the
data partition: the kernel keeps off the line from the next start, and the login from this one.
"""

import os
from pathlib import Path

from oncegate_device.places import Places, write

CONSOLE, SENSORS = "console", "sensors"
MARK = "uart-is-for-sensors"
"""On the boot partition; image/boot/boot.cmd looks whether it exists."""

_MARK_TEXT = (
    "Made from [console] uart in gateway.toml: the kernel's console keeps off the UART.\r\n"
)


def store(uart: str, places: Places) -> None:
    """Write who has the line. The boot partition is mounted writable."""
    write(places.device / "uart", f"{uart}\n", 0o644)
    mark: Path = places.boot / MARK
    if uart != SENSORS:
        mark.unlink(missing_ok=True)
        return
    with mark.open("w", encoding="ascii", newline="") as file:
        file.write(_MARK_TEXT)
        file.flush()
        os.fsync(file.fileno())
