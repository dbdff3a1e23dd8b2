"""Conditions of the machine: the processor's temperature and its power supply."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from api.alarms.condition import Condition, Level
from api.alarms.thresholds import Thresholds

_FILE_BYTES_MAX: Final = 64


class Machine:
    """Reads the kernel's files; those that do not exist raise no alarm."""

    def __init__(self, root: Path = Path("/sys/class")) -> None:
        self._temperature: Final = root / "thermal" / "thermal_zone0" / "temp"
        self._monitors: Final = root / "hwmon"

    def conditions(self, thresholds: Thresholds) -> Iterator[Condition]:
        """Yield the present conditions."""
        celsius = self.temperature_celsius()
        if celsius is not None and celsius >= thresholds.temperature_celsius:
            yield Condition(
                "temperature", "processor", Level.ATTENTION,
                f"The processor is at {celsius:.0f} °C.",
                "Give the gateway air, or a heat sink; it slows down when it is hot. [alarms] "
                "temperature sets when this is shown.",
            )  # fmt: skip
        if self.is_under_voltage():
            yield Condition(
                "under_voltage", "power supply", Level.ATTENTION,
                "The power supply is too weak: the kernel reports under-voltage.",
                "Use a supply for this model of Raspberry Pi (5.1 V), with its own cable.",
            )  # fmt: skip

    def temperature_celsius(self) -> float | None:
        """Return the processor's temperature; None: the kernel does not report it."""
        value = _number_in(self._temperature)
        return None if value is None else value / 1000

    def is_under_voltage(self) -> bool:
        """Return True while the kernel's monitor of the power supply reports under-voltage."""
        return any(
            _text_in(name) == "rpi_volt" and _number_in(name.parent / "in0_lcrit_alarm") == 1
            for name in self._monitors.glob("hwmon*/name")
        )


def _text_in(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_BYTES_MAX).decode().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _number_in(path: Path) -> int | None:
    text = _text_in(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
