"""The processor's temperature and its power supply, from the kernel's files."""

from pathlib import Path

from api.alarms.machine_conditions import Machine
from api.alarms.thresholds import Thresholds


def identifiers_on(root: Path) -> list[str]:
    return [each.id for each in Machine(root).conditions(Thresholds())]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_machine_that_reports_nothing_raises_no_alarm(tmp_path: Path) -> None:
    assert identifiers_on(tmp_path) == []
    write(tmp_path / "thermal/thermal_zone0/temp", "hot\n")
    assert identifiers_on(tmp_path) == []


def test_a_hot_processor_is_an_alarm(tmp_path: Path) -> None:
    write(tmp_path / "thermal/thermal_zone0/temp", "79999\n")
    assert identifiers_on(tmp_path) == []
    write(tmp_path / "thermal/thermal_zone0/temp", "80000\n")
    assert identifiers_on(tmp_path) == ["temperature"]


def test_under_voltage_is_an_alarm_while_the_kernel_reports_it(tmp_path: Path) -> None:
    write(tmp_path / "hwmon/hwmon0/name", "cpu_thermal\n")
    write(tmp_path / "hwmon/hwmon1/name", "rpi_volt\n")
    write(tmp_path / "hwmon/hwmon1/in0_lcrit_alarm", "0\n")
    assert identifiers_on(tmp_path) == []
    write(tmp_path / "hwmon/hwmon1/in0_lcrit_alarm", "1\n")
    assert identifiers_on(tmp_path) == ["under_voltage"]
