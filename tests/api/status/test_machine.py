"""The machine's figures from the kernel's files, also from hostile ones."""

from pathlib import Path

import pytest

from api.status.machine import Machine, read_machine

NOTHING = Machine(None, None, None, None)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_kernels_files_are_read(tmp_path: Path) -> None:
    write(tmp_path / "proc/stat", "cpu  100 5 50 800 40 2 3 0 0 0\ncpu0 1 1 1 1 1\n")
    write(tmp_path / "proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n")
    write(tmp_path / "sys/class/thermal/thermal_zone0/temp", "48312\n")
    write(tmp_path / "sys/class/block/mmcblk0/stat", "1 2 3 4 5 6 1000 8 9 10 11\n")
    write(tmp_path / "sys/class/block/mmcblk0p1/stat", "1 2 3 4 5 6 400 8 9 10 11\n")
    write(tmp_path / "sys/class/block/mmcblk0p1/partition", "1\n")
    write(tmp_path / "sys/class/block/loop0/stat", "1 2 3 4 5 6 77 8 9 10 11\n")
    assert read_machine(tmp_path / "proc", tmp_path / "sys") == Machine(
        (160, 1000), 0.75, 48.312, 512_000
    )


def test_what_is_missing_is_not_known(tmp_path: Path) -> None:
    assert read_machine(tmp_path / "proc", tmp_path / "sys") == NOTHING


@pytest.mark.parametrize("text", ["", "cpu", "cpu a b c d e f\n", "\0\0\0", "MemTotal: x kB\n-"])
def test_files_that_make_no_sense_are_not_known(tmp_path: Path, text: str) -> None:
    for name in ("proc/stat", "proc/meminfo", "sys/class/thermal/thermal_zone0/temp"):
        write(tmp_path / name, text)
    write(tmp_path / "sys/class/block/sda/stat", text)
    assert read_machine(tmp_path / "proc", tmp_path / "sys") == NOTHING


def test_this_machine_has_processors_and_memory() -> None:
    machine = read_machine()
    assert machine.ticks is not None
    assert machine.memory_used_share is not None
    assert 0 < machine.memory_used_share < 1


def test_under_voltage_is_what_the_monitor_of_the_supply_reports(tmp_path: Path) -> None:
    write(tmp_path / "class/hwmon/hwmon0/name", "cpu_thermal\n")
    write(tmp_path / "class/hwmon/hwmon0/in0_lcrit_alarm", "1\n")
    write(tmp_path / "class/hwmon/hwmon1/name", "rpi_volt\n")
    write(tmp_path / "class/hwmon/hwmon1/in0_lcrit_alarm", "0\n")
    assert not read_machine(tmp_path, tmp_path).is_under_voltage
    write(tmp_path / "class/hwmon/hwmon1/in0_lcrit_alarm", "1\n")
    assert read_machine(tmp_path, tmp_path).is_under_voltage
