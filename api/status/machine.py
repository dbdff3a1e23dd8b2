"""Counters and gauges of the machine, read from files of the Linux kernel.

If the machine or the service's sandbox does not provide a value, the value is None.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FILE_BYTES_MAX: Final = 65_536
"""Bytes read from one file, at most; /proc/stat of a machine with 64 processors has 8 kB."""
_SECTOR_BYTES: Final = 512
_DISKS: Final = ("mmcblk", "nvme", "sd", "vd")


@dataclass(frozen=True)
class Machine:
    """Counters and gauges of the machine at one moment. None means unknown."""

    ticks: tuple[int, int] | None
    """Ticks in which processors were busy, and all ticks, since the kernel started."""
    memory_used_share: float | None
    temperature: float | None
    """Temperature of the processor in degrees Celsius."""
    written_bytes: int | None
    """Bytes written to all disks since the kernel started."""
    is_under_voltage: bool = False
    """True while the kernel reports under-voltage from a Raspberry Pi's power supply monitor."""


def read_machine(proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Machine:
    """Read the machine's counters and gauges.

    `proc` and `sys` are the directories of the kernel's file systems, usually /proc and /sys.
    """
    return Machine(
        ticks=_ticks_of(_text_of(proc / "stat")),
        memory_used_share=_memory_of(_text_of(proc / "meminfo")),
        temperature=_temperature_of(_text_of(sys / "class/thermal/thermal_zone0/temp")),
        written_bytes=_written_of(sys / "class/block"),
        is_under_voltage=_is_under_voltage(sys / "class/hwmon"),
    )


def _ticks_of(text: str) -> tuple[int, int] | None:
    """Return the busy and the total processor time in ticks, from the text of /proc/stat.

    The format is described in proc_stat(5).
    """
    fields = text.partition("\n")[0].split()
    if len(fields) < 6 or fields[0] != "cpu" or not all(each.isdecimal() for each in fields[1:]):
        return None
    # Guests are part of `user` already.
    ticks = [int(each) for each in fields[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def _memory_of(text: str) -> float | None:
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            found[name] = int(words[0])
    total, available = found.get("MemTotal"), found.get("MemAvailable")
    return 1 - available / total if total and available is not None else None


def _temperature_of(text: str) -> float | None:
    number = text.strip()
    return int(number) / 1000 if number.removeprefix("-").isdecimal() else None


def _written_of(block: Path) -> int | None:
    try:
        names = sorted(path.name for path in block.iterdir() if path.name.startswith(_DISKS))
    except OSError:
        return None
    # Partitions are left out, because the counter of the whole disk includes them.
    disks = [name for name in names if not (block / name / "partition").exists()]
    sectors = [_text_of(block / name / "stat").split() for name in disks]
    counts = [int(each[6]) for each in sectors if len(each) > 6 and each[6].isdecimal()]
    return sum(counts) * _SECTOR_BYTES if counts else None


def _is_under_voltage(monitors: Path) -> bool:
    return any(
        _text_of(name).strip() == "rpi_volt"
        and _text_of(name.parent / "in0_lcrit_alarm").strip() == "1"
        for name in monitors.glob("hwmon*/name")
    )


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_FILE_BYTES_MAX).decode("ascii", "replace")
    except OSError:
        return ""
