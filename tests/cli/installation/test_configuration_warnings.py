"""`oncegate check-config` warns of what can be used and is probably a mistake."""

import json
from pathlib import Path

from tests.cli.command import oncegate


def test_check_config_warns_of_a_name_that_a_port_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(
        '[[serial]]\nname = "a"\npath = "/dev/x"\nframing = "csv"\ncolumns = ["temp", "door"]\n'
        'units = { temperature = "Cel", temp = "Cel" }\n'
        '[[serial.readings.quantities]]\nname = "tp"\ndeadband = 0.1\n'
        '[[serial]]\nname = "b"\npath = "/dev/y"\nframing = "modbus"\nunits = { load = "W" }\n'
        'devices = [{ name = "d", address = 1, registers = [{ name = "power", at = 1 }] }]\n'
        '[[serial]]\nname = "c"\npath = "/dev/z"\nframing = "json"\nunits = { any = "Cel" }\n'
    )
    outcome = oncegate("check-config", "--config", "g.toml", directory=tmp_path)
    assert outcome.returncode == 0
    assert [line for line in outcome.stdout.splitlines() if "warning" in line] == [
        'serial port a: warning: "temperature" in units is none of its quantities: door, temp',
        'serial port a: warning: "tp" in readings.quantities is none of its quantities: door, temp',
        'serial port b: warning: "load" in units is none of its quantities: power',
    ]


def test_check_config_warns_of_two_ports_that_are_one_device(tmp_path: Path) -> None:
    (tmp_path / "ttyUSB0").write_text("")
    (tmp_path / "by-id").symlink_to("ttyUSB0")
    (tmp_path / "g.toml").write_text(
        f'[[serial]]\nname = "a"\npath = "{tmp_path}/ttyUSB0"\n'
        f'[[serial]]\nname = "b"\npath = "{tmp_path}/by-id"\n'
        f'[[serial]]\nname = "c"\npath = "{tmp_path}/unplugged"\n'
        f'[[serial]]\nname = "d"\npath = "{tmp_path}/gone"\n'
    )
    outcome = oncegate("check-config", "--config", "g.toml", directory=tmp_path)
    assert outcome.returncode == 0
    (warning,) = [line for line in outcome.stdout.splitlines() if "warning" in line]
    assert warning == (
        f"serial port b: warning: {tmp_path}/by-id is the device of the serial port a, too: "
        "a device has one reader"
    )


def test_check_config_warns_of_a_unit_that_senml_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(
        '[[serial]]\nname = "a"\npath = "/dev/a"\nframing = "key_value"\n'
        'units = { t = "degC", h = "%RH" }\n'
        '[[serial.readings.quantities]]\nname = "v"\nunit = "knots"\n'
    )
    outcome = oncegate("check-config", "--config", "g.toml", directory=tmp_path)
    assert outcome.returncode == 0
    warnings = [line for line in outcome.stdout.splitlines() if "warning" in line]
    assert warnings == [
        'serial port a: warning: "degC" is not a SenML unit: write "Cel"',
        'serial port a: warning: "knots" is not a SenML unit: RFC 8428 and RFC 8798 list them',
    ]
    as_json = oncegate("check-config", "--config", "g.toml", "--json", directory=tmp_path)
    assert json.loads(as_json.stdout)["warnings"] == warnings
