"""Assigns the UART on the pin header to the console or to sensors (`[console] uart`).

If the UART is assigned to sensors, two files take effect. A marker file on the boot partition makes
the boot script start the kernel without a console on the UART, beginning with the next start. A
file on the data partition makes /usr/lib/oncegate-device/provision stop the login prompt on the
UART immediately.
"""

import os
from pathlib import Path

from oncegate_device.places import Places, write

CONSOLE, SENSORS = "console", "sensors"
MARK = "uart-is-for-sensors"
"""Name of the marker file on the boot partition. image/boot/boot.cmd checks for it."""

_MARK_TEXT = (
    "Made from [console] uart in gateway.toml: the kernel's console keeps off the UART.\r\n"
)


def store(uart: str, places: Places) -> None:
    """Store the purpose of the UART, which is `console` or `sensors`.

    The boot partition must be mounted writable.
    """
    write(places.device / "uart", f"{uart}\n", 0o644)
    mark: Path = places.boot / MARK
    if uart != SENSORS:
        mark.unlink(missing_ok=True)
        return
    with mark.open("w", encoding="ascii", newline="") as file:
        file.write(_MARK_TEXT)
        file.flush()
        os.fsync(file.fileno())
