"""Which port and protocol `oncegate serial` means."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.csv_lines import CsvLines

from gateway.cli.failures import CommandFailed
from gateway.cli.serial_ports import decoder_settings_of, settings_of, settings_to_watch

FILE = """\
[[serial]]
name = "level"
path = "/dev/ttyS7"
framing = "csv"
columns = ["level"]
line = "9600 7E1"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "gateway.toml"
    found.write_text(FILE)
    return found


def test_a_port_of_the_file_has_place_line_and_protocol(file: Path) -> None:
    port, protocol = settings_to_watch(None, None, None, "level", file)
    assert (port.path, str(port.line)) == ("/dev/ttyS7", "9600 7E1")
    assert isinstance(protocol, CsvLines)
    assert protocol.columns == ("level",)


def test_place_and_line_of_the_command_line_come_before_the_file_s(file: Path) -> None:
    port, _ = settings_to_watch("tcp://a:1", "4800 8N1", None, "level", file)
    assert (port.path, port.address, str(port.line)) == (None, "tcp://a:1", "4800 8N1")


def test_a_port_without_the_file_is_115200_baud_and_has_no_protocol_unless_it_is_named() -> None:
    port, protocol = settings_to_watch("0403:6001", None, None, None, None)
    assert (port.usb, port.path, str(port.line), protocol) == (
        "0403:6001",
        None,
        "115200 8N1",
        None,
    )
    _, protocol = settings_to_watch("x", None, "nmea", None, None)
    assert protocol == decoder_settings_of("nmea")


def test_a_line_that_is_none_is_refused() -> None:
    with pytest.raises(CommandFailed, match="--line: use a rate"):
        settings_of("x", "9600")
