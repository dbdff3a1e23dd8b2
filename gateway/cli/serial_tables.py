"""What `oncegate serial` shows: the ports of this machine, and bytes beside what they mean."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.cli.serial_hints import hint_of, users_of

if TYPE_CHECKING:
    from firmware_bridge.serial.recording import Chunk
    from rich.console import RenderableType

BYTES_A_ROW = 16
Texts = Callable[[bytes], list[str]]
"""What bytes complete: frames and damage, a text each."""


def ports_found() -> Iterator[dict[str, Any]]:
    from serial.tools import list_ports as found

    by_id = {
        str(each.resolve()): str(each)
        for each in sorted(
            Path("/dev/serial/by-id").glob("*")
        )  # absent where nothing is plugged in
    }
    ports = sorted(found.comports())
    users = users_of({port.device for port in ports})
    for port in ports:
        is_usb = port.vid is not None
        usb = f"{port.vid:04x}:{port.pid:04x}" if is_usb else None
        yield {
            "path": port.device,
            "by_id": by_id.get(port.device),
            "usb": f"{usb}:{port.serial_number}" if usb and port.serial_number else usb,
            "description": None if port.description == "n/a" else port.description,
            "hint": hint_of(port.vid, port.pid),
            "in_use": users.get(port.device),
            "toml": f'usb = "{usb}"' if usb else f'path = "{by_id.get(port.device, port.device)}"',
        }


def ports_table(answer: dict[str, Any]) -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not answer["ports"]:
        return "No serial port is plugged in. Is the cable one for data? See: dmesg | tail"
    table = Table(box=box.SIMPLE)
    for column in ("port", "USB identity", "what it is", "in use by", "for gateway.toml"):
        table.add_column(column, overflow="fold")
    for port in answer["ports"]:
        what = port["hint"] or port["description"]
        values = (port["path"], port["usb"], what, port["in_use"], port["toml"])
        table.add_row(*(Text(ascii(value)[1:-1] if value else "-") for value in values))
    return table


def rows_of(chunk: "Chunk", texts_of: Texts) -> Iterator[str]:
    """Yield the bytes 16 a row, and beside each row what its bytes complete."""
    data = chunk.data
    for at in range(0, len(data), BYTES_A_ROW):
        piece = data[at : at + BYTES_A_ROW]
        time = f"{chunk.seconds:10.3f}" if at == 0 else " " * 10
        first, *others = texts_of(piece) or [""]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        yield f"{time}  {piece.hex(' '):47}  {shown:16}  {ascii(first)[1:-1]}".rstrip()
        for other in others:
            yield f"{'':79}{ascii(other)[1:-1]}"


def rows_with(chunk: "Chunk", text: str) -> Iterator[str]:
    """Yield the bytes 16 a row, and the text beside the last of them; beside none without bytes."""
    *before, last = list(rows_of(chunk, lambda _: [])) or [f"{chunk.seconds:10.3f}"]
    yield from before
    yield f"{last:79}{ascii(text)[1:-1]}"
