"""The choice of port and protocol for `oncegate serial`."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.csv_lines import CsvLines

from gateway.cli.common.failures import CommandFailed
from gateway.cli.serial.ports import decoder_settings_of, settings_of, watched_of

FILE = """\
[[serial]]
name = "level"
path = "/dev/ttyS7"
framing = "csv"
columns = ["level"]
line = "9600 7E1"
"""

MODBUS = """\
[[serial]]
name = "rs485"
path = "/dev/ttyS7"
framing = "modbus"
devices = [{name = "pump", address = 5, registers = [{name = "speed", at = 0}]}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "gateway.toml"
    found.write_text(FILE)
    return found


def test_a_port_of_the_file_has_place_line_and_protocol(file: Path) -> None:
    found = watched_of(None, None, None, "level", file)
    assert (found.port.path, str(found.port.line)) == ("/dev/ttyS7", "9600 7E1")
    assert isinstance(found.protocol, CsvLines)
    assert found.protocol.columns == ("level",)
    assert not found.overhears


def test_place_and_line_of_the_command_line_come_before_the_file_s(file: Path) -> None:
    port = watched_of("tcp://a:1", "4800 8N1", None, "level", file).port
    assert (port.path, port.address, str(port.line)) == (None, "tcp://a:1", "4800 8N1")


def test_a_port_without_the_file_is_115200_baud_and_has_no_protocol_unless_it_is_named() -> None:
    found = watched_of("0403:6001", None, None, None, None)
    assert (found.port.usb, found.port.path, str(found.port.line), found.protocol) == (
        "0403:6001",
        None,
        "115200 8N1",
        None,
    )
    assert watched_of("x", None, "nmea", None, None).protocol == decoder_settings_of("nmea")


def test_a_line_of_modbus_is_asked_with_the_file_s_keys_and_overheard_without_or_on_request(
    tmp_path: Path,
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(MODBUS)
    asked = watched_of(None, None, None, "rs485", file)
    assert (asked.port.framing, asked.overhears) == ("modbus", False)
    assert watched_of(None, None, None, "rs485", file, listen=True).overhears
    overheard = watched_of("x", None, "modbus", None, None)
    assert (overheard.protocol, overheard.overhears) == (None, True)


def test_a_line_that_is_none_is_refused() -> None:
    with pytest.raises(CommandFailed, match="--line: use a rate"):
        settings_of("x", "9600")
