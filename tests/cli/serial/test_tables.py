"""Ports and bytes in tables for a terminal."""

import io

from firmware_bridge.serial.recording import Chunk
from rich.console import Console

from gateway.cli.serial.tables import ports_table, rows_of, rows_with


def test_bytes_are_16_a_row_with_what_they_mean_beside_them() -> None:
    texts = {b"0123456789abcdef": ["a=1", "b\x1b"], b"\x00\xff": ["c"]}
    rows = list(rows_of(Chunk(1.5, b"0123456789abcdef\x00\xff"), texts.__getitem__))
    assert rows[0] == (
        "     1.500  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef  a=1"
    )
    assert rows[1].strip() == "b\\x1b"
    assert rows[1].index("b") == rows[0].index("a=1")
    assert rows[2].endswith("..                c")
    assert list(rows_of(Chunk(0.0, b"a"), lambda _: [])) == [f"     0.000  61{'':47}a"]


def test_what_a_device_calls_itself_is_shown_as_text() -> None:
    port: dict[str, str | None] = {
        "path": "/dev/ttyUSB0",
        "usb": "0403:6001",
        "description": "[red]\x1b[2J",
        "toml": "u",
    }
    port |= {"hint": None, "in_use": "oncegate (7)"}
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(ports_table({"ports": [port]}))
    shown = console.export_text()
    assert "[red]" in shown
    assert "\x1b" not in shown
    assert "oncegate (7)" in shown
    assert "No serial port is plugged in" in str(ports_table({"ports": []}))


def test_a_text_is_next_to_the_last_row_of_its_bytes_and_alone_without_any() -> None:
    first, second = rows_with(Chunk(1.5, b"0123456789abcdef\x00"), "> pump: coil\x1b 0")
    assert first.endswith("0123456789abcdef")
    assert second[79:] == "> pump: coil\\x1b 0"
    assert list(rows_with(Chunk(2.25, b""), "!! no_answer")) == [f"     2.250{'':69}!! no_answer"]
