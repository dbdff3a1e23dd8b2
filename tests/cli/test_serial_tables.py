"""Ports and bytes as a terminal shows them."""

import io

from firmware_bridge.serial.recording import Chunk
from rich.console import Console

from gateway.cli.serial_tables import ports_table, rows_of


def test_bytes_are_16_a_row_with_what_they_mean_beside_them() -> None:
    rows = list(rows_of(Chunk(1.5, b"0123456789abcdef\x00\xff"), ["a=1", "b\x1b", "c"]))
    assert rows[0] == (
        "     1.500  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef  a=1"
    )
    assert rows[1].endswith("..                b\\x1b")
    assert rows[2].strip() == "c"


def test_what_a_device_calls_itself_is_shown_as_text() -> None:
    port = {"path": "/dev/ttyUSB0", "usb": "0403:6001", "description": "[red]\x1b[2J", "toml": "u"}
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(ports_table({"ports": [port]}))
    shown = console.export_text()
    assert "[red]" in shown
    assert "\x1b" not in shown
    assert "No serial port is plugged in" in str(ports_table({"ports": []}))
