"""What `oncegate serial` shows: the ports of this machine, and bytes beside what they mean."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firmware_bridge.serial.recording import Chunk
    from rich.console import RenderableType

BYTES_A_ROW = 16


def ports_found() -> Iterator[dict[str, Any]]:
    from serial.tools import list_ports as found

    by_id = {
        str(each.resolve()): str(each)
        for each in sorted(
            Path("/dev/serial/by-id").glob("*")
        )  # absent where nothing is plugged in
    }
    for port in sorted(found.comports()):
        is_usb = port.vid is not None
        usb = f"{port.vid:04x}:{port.pid:04x}" if is_usb else None
        yield {
            "path": port.device,
            "by_id": by_id.get(port.device),
            "usb": f"{usb}:{port.serial_number}" if usb and port.serial_number else usb,
            "description": None if port.description == "n/a" else port.description,
            "toml": f'usb = "{usb}"' if usb else f'path = "{by_id.get(port.device, port.device)}"',
        }


def ports_table(answer: dict[str, Any]) -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not answer["ports"]:
        return "No serial port is plugged in. Is the cable one for data? See: dmesg | tail"
    table = Table(box=box.SIMPLE)
    for column in ("port", "USB identity", "its own description", "for gateway.toml"):
        table.add_column(column, overflow="fold")
    for port in answer["ports"]:
        values = (port["path"], port["usb"], port["description"], port["toml"])
        table.add_row(*(Text(ascii(value)[1:-1] if value else "-") for value in values))
    return table


def rows_of(chunk: "Chunk", texts: list[str]) -> Iterator[str]:
    """Yield the bytes 16 a row, with what they mean beside the first rows."""
    data = chunk.data
    pieces = [data[at : at + BYTES_A_ROW] for at in range(0, len(data), BYTES_A_ROW)]
    for number in range(max(len(pieces), len(texts))):
        piece = pieces[number] if number < len(pieces) else b""
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        at = f"{chunk.seconds:10.3f}" if number == 0 else " " * 10
        text = ascii(texts[number])[1:-1] if number < len(texts) else ""
        yield f"{at}  {piece.hex(' '):47}  {shown:16}  {text}".rstrip()
