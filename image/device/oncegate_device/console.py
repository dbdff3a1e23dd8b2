"""Use of the UART on the header: by the console, or by sensors (`[console] uart` in gateway.toml).

The boot script reads a marker on the boot partition, so the kernel leaves the UART free from the
next start on. /usr/lib/oncegate-device/provision reads a file on the data partition, so the login
leaves it free immediately.
"""

import os
from pathlib import Path

from oncegate_device.places import Places, write

CONSOLE, SENSORS = "console", "sensors"
MARK = "uart-is-for-sensors"
"""On the boot partition; image/boot/boot.cmd checks whether it exists."""

_MARK_TEXT = (
    "Made from [console] uart in gateway.toml: the kernel's console keeps off the UART.\r\n"
)


def store(uart: str, places: Places) -> None:
    """Store who uses the UART. The boot partition must be mounted writable."""
    write(places.device / "uart", f"{uart}\n", 0o644)
    mark: Path = places.boot / MARK
    if uart != SENSORS:
        mark.unlink(missing_ok=True)
        return
    with mark.open("w", encoding="ascii", newline="") as file:
        file.write(_MARK_TEXT)
        file.flush()
        os.fsync(file.fileno())
