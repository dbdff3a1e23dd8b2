"""Likely kinds of USB serial devices, and the program that has a device open."""

import os
from pathlib import Path

from firmware_bridge.serial.hints import HINTS, hint_of, users_of


def test_a_common_device_is_named_and_an_unknown_one_is_not() -> None:
    assert "CH340" in str(hint_of(0x1A86, 0x7523))
    assert 'framing = "nmea"' in str(hint_of(0x1546, 0x01A7))
    assert hint_of(0x1A86, 0xFFFF) is None
    assert hint_of(None, None) is None
    assert all(0 < vendor < 1 << 16 and 0 < product < 1 << 16 for vendor, product in HINTS)


def test_a_file_that_a_process_has_open_has_its_name_and_number(tmp_path: Path) -> None:
    opened, free = tmp_path / "ttyUSB0", tmp_path / "ttyUSB1"
    free.touch()
    with opened.open("w"):
        found = users_of({str(opened), str(free)})
    assert list(found) == [str(opened)]
    assert found[str(opened)].endswith(f" ({os.getpid()})")


def test_processes_of_others_and_those_that_ended_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "17").mkdir()
    (tmp_path / "18" / "fd").mkdir(parents=True)
    (tmp_path / "18" / "fd" / "3").symlink_to("/dev/ttyUSB0")
    (tmp_path / "self").mkdir()
    assert users_of({"/dev/ttyUSB0"}, tmp_path) == {"/dev/ttyUSB0": "a process (18)"}
