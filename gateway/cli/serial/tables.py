"""Output of `oncegate serial`: lists of ports, and received bytes next to their decoded values."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from firmware_bridge.protocols.frame import Frame
    from firmware_bridge.serial.recording import Chunk
    from rich.console import RenderableType

BYTES_A_ROW = 16
# Values of a frame that `serial detect` shows, at most: more would push the table off the screen.
SAMPLE_ROWS_MAX = 16
Texts = Callable[[bytes], list[str]]
"""Function that decodes received bytes, and returns one text for each frame or error in them."""


def ports_table(answer: dict[str, Any]) -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not answer["ports"]:
        return "No serial port is plugged in. Check that the cable carries data. See: dmesg | tail"
    table = Table(box=box.SIMPLE)
    for column in ("port", "USB identity", "what it is", "in use by", "for gateway.toml"):
        table.add_column(column, overflow="fold")
    for port in answer["ports"]:
        what = port["hint"] or port["description"]
        values = (port["path"], port["usb"], what, port["in_use"], port["toml"])
        table.add_row(*(Text(ascii(value)[1:-1] if value else "-") for value in values))
    return table


def rows_of(chunk: "Chunk", texts_of: Texts) -> Iterator[str]:
    """Yield text rows that show received bytes, 16 per row, next to the decoded messages.

    `texts_of` decodes the bytes of a row, and returns a text for each message that ends in the row.
    """
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
    """Yield text rows that show received bytes, 16 per row, with `text` in the last row.

    If there are no bytes, a single row with the time and `text` is yielded.
    """
    *before, last = list(rows_of(chunk, lambda _: [])) or [f"{chunk.seconds:10.3f}"]
    yield from before
    yield f"{last:79}{ascii(text)[1:-1]}"


def sample_rows(frame: "Frame") -> Iterator[str]:
    """Yield one row for each of the first `SAMPLE_ROWS_MAX` values of a frame.

    If the frame has more values, one more row contains the count of the remaining values.
    """
    found = [each for measurements in frame.quantities.values() for each in measurements]
    for each in found[:SAMPLE_ROWS_MAX]:
        yield f"  {each.name} = {each.value!r}{f' {each.unit}' if each.unit else ''}"
    if len(found) > SAMPLE_ROWS_MAX:
        yield f"  and {len(found) - SAMPLE_ROWS_MAX} more"


def devices_found(configuration: "Path | None") -> Iterator[dict[str, Any]]:
    """Yield a summary of each Modbus device for which the gateway has a description.

    Raises CommandFailed if a description is invalid.
    """
    from firmware_bridge.protocols.modbus_library import description_of, names_known
    from pydantic_core import PydanticCustomError

    from gateway.cli.common.failures import CommandFailed
    from gateway.process.declarations.directory import files_next_to

    with files_next_to(configuration):
        for name in names_known():
            try:
                description = description_of(name)
            except PydanticCustomError as error:
                raise CommandFailed(f"{name}: use {error.message()}") from None
            yield {
                "device": name,
                "title": description.get("title", ""),
                "line": description.get("line"),
                "quantities": [each["name"] for each in description["registers"]],
                "source": description.get("source", ""),
            }


def devices_table(answer: dict[str, Any]) -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE)
    for column in ("device", "what it is", "quantities", "line when new"):
        table.add_column(column)
    for each in answer["devices"]:
        cells = (each["device"], each["title"], str(len(each["quantities"])), each["line"] or "")
        table.add_row(*(Text(cell) for cell in cells))
    return table
