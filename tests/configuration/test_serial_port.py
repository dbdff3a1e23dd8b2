"""`[[serial]]`: a port with its line settings and its protocol."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.cli.services.bridge_settings import bridge_settings_of
from gateway.configuration import ConfigurationError, load
from gateway.configuration.description import tables
from gateway.process.declarations.serial_line import Line, Rs485


@pytest.mark.parametrize(
    ("keys", "line", "shown"),
    [
        ("", Line(115_200, 8, "N", 1), None),
        ("baud_rate = 9600", Line(9600, 8, "N", 1), None),
        ("line = '9600 7E1'", Line(9600, 7, "E", 1), "9600 7E1"),
        ("line = '115200 8N1'", Line(115_200, 8, "N", 1), "115200 8N1"),
        ("line = '2400 8O2'", Line(2400, 8, "O", 2), "2400 8O2"),
    ],
)
def test_a_serial_line_is_its_rate_or_all_of_its_settings(
    file: Path, keys: str, line: Line, shown: str | None
) -> None:
    file.write_text(f"[[serial]]\nname = 'scale'\npath = '/dev/ttyS0'\nframing = 'json'\n{keys}")
    configuration = load(file, {}, {}, PROTOCOLS)
    assert configuration.serial[0].line_settings == line
    assert tables(configuration)["serial"][0]["line"] == shown
    (port,) = bridge_settings_of(configuration).ports
    assert port.line == line


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("", ("on", "on")),
        ("dtr = 'off'", ("off", "on")),
        ("dtr = 'leave'\nrts = 'leave'", ("leave", "leave")),
    ],
)
def test_dtr_and_rts_come_to_the_port(file: Path, keys: str, expected: tuple[str, str]) -> None:
    file.write_text(f"[[serial]]\nname = 'a'\npath = '/dev/ttyS0'\nframing = 'json'\n{keys}")
    (port,) = bridge_settings_of(load(file, {}, {}, PROTOCOLS)).ports
    assert (port.dtr, port.rts) == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("", None),
        ("rs485 = true", Rs485("high", 0.0, 0.0)),
        (
            "rs485=true\nrs485_rts='low'\nrs485_delay_before_send='1ms'\nrs485_delay_after_send='20ms'",
            Rs485("low", 0.001, 0.02),
        ),
    ],
)
def test_the_driver_s_rs_485_mode_comes_to_the_port(
    file: Path, keys: str, expected: Rs485 | None
) -> None:
    file.write_text(f"[[serial]]\nname = 'a'\npath = '/dev/ttyS0'\nframing = 'json'\n{keys}")
    (port,) = bridge_settings_of(load(file, {}, {}, PROTOCOLS)).ports
    assert port.rs485 == expected


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("ttyUSB0", "not ttyUSB0, which lacks /dev/"),
        ("ttyACM1", "not ttyACM1, which lacks /dev/"),
        ("serial/by-id/usb-FTDI", "which lacks /dev/"),
        ("COM3", "a Windows port"),
        ("com12:", "a Windows port"),
        (r"\\.\COM10", "a Windows port"),
        ("/dev", "a directory"),
    ],
)
def test_a_path_that_is_no_serial_port_is_refused_with_the_fix(
    file: Path, path: str, reason: str
) -> None:
    file.write_text(f"[[serial]]\nname = 'a'\npath = '{path}'\nframing = 'json'\n")
    with pytest.raises(ConfigurationError) as refused:
        load(file, {}, {}, PROTOCOLS)
    assert reason in str(refused.value)
    assert "/dev/ttyUSB0 (`oncegate serial list`" in str(refused.value)
