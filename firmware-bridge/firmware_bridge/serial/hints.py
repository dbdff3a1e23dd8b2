"""Hints about USB serial devices: the likely product, and the process that has the port open.

The product names are from usb.ids (linux-usb.org, 2024). After a colon, some hints also name
devices that often contain the product, or the `framing` to configure.

No port is opened, because many boards restart when their port is opened.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

HINTS: Final[Mapping[tuple[int, int], str]] = {
    (0x0403, 0x6001): "FTDI FT232: USB adapter, RS-485 or P1 cable",
    (0x0403, 0x6010): "FTDI FT2232, two ports",
    (0x0403, 0x6011): "FTDI FT4232H, four ports",
    (0x0403, 0x6014): "FTDI FT232H",
    (0x0403, 0x6015): "FTDI FT230X: USB adapter, RS-485 or P1 cable",
    (0x0451, 0x16A8): "Texas Instruments CC2531: Zigbee stick",
    (0x0658, 0x0200): "Aeotec Z-Stick Gen5: Z-Wave stick",
    (0x067B, 0x2303): "Prolific PL2303: USB adapter",
    (0x10C4, 0xEA60): "Silicon Labs CP210x: ESP boards, dust sensors, Zigbee sticks, IR heads",
    (0x10C4, 0xEA70): "Silicon Labs CP2105, two ports",
    (0x10C4, 0xEA71): "Silicon Labs CP2108, four ports",
    (0x1546, 0x01A7): 'u-blox 7 GNSS receiver: framing = "nmea"',
    (0x1546, 0x01A8): 'u-blox 8 GNSS receiver: framing = "nmea"',
    (0x16C0, 0x0483): "Teensy board",
    (0x1A86, 0x55D4): "WCH CH9102: ESP boards",
    (0x1A86, 0x7523): "WCH CH340: Arduino and ESP boards, RS-485 adapters",
    (0x1CF1, 0x0030): "ConBee II: Zigbee stick",
    (0x2341, 0x0001): 'Arduino Uno: framing = "board" with the board library',
    (0x2341, 0x0042): 'Arduino Mega 2560: framing = "board" with the board library',
    (0x2341, 0x0043): 'Arduino Uno: framing = "board" with the board library',
    (0x2341, 0x8036): 'Arduino Leonardo: framing = "board" with the board library',
    (0x2E8A, 0x0005): "Raspberry Pi Pico with MicroPython",
    (0x2E8A, 0x000A): 'Raspberry Pi Pico: framing = "board" with the board library',
    (0x303A, 0x1001): "ESP32 with a USB port of its own",
}


def hint_of(vendor: int | None, product: int | None) -> str | None:
    """Return the likely device for a USB vendor id and product id, or None if it is unknown."""
    if vendor is None or product is None:
        return None
    return HINTS.get((vendor, product))


def users_of(paths: set[str], processes: Path = Path("/proc")) -> dict[str, str]:
    """Return the processes that have device files in `paths` open.

    The result maps the path of each open file to its process, as `name (pid)`. Only
    processes that the current user can inspect are found.
    """
    found: dict[str, str] = {}
    for folder in processes.glob("[0-9]*"):
        for path in _open_files_of(folder) & paths:
            found[path] = f"{_name_of(folder)} ({folder.name})"
    return found


def _open_files_of(folder: Path) -> set[str]:
    return set(_links_in(folder / "fd"))


def _links_in(folder: Path) -> Iterator[str]:
    try:
        for link in folder.iterdir():
            yield str(link.readlink())
    except OSError:
        return  # The process has ended, or belongs to another user.


def _name_of(folder: Path) -> str:
    try:
        return (folder / "comm").read_text().strip()
    except OSError:
        return "a process"
