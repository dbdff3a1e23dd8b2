"""Alarm conditions of the machine: a hot processor, and a power supply that is too weak.

This module does no I/O.
"""

from collections.abc import Iterator

from api.alarms.conditions.condition import Condition, Level
from api.alarms.conditions.thresholds import Thresholds
from api.status.machine import Machine


def conditions_of_machine(machine: Machine, thresholds: Thresholds) -> Iterator[Condition]:
    """Yield the alarm conditions of the machine that are true now.

    No condition is raised for a value that the kernel does not report.
    """
    celsius = machine.temperature
    if celsius is not None and celsius >= thresholds.temperature_celsius:
        yield Condition(
            "temperature", "processor", Level.ATTENTION,
            f"The processor is at {celsius:.0f} °C.",
            "Improve the airflow, or fit a heat sink: a hot processor slows down. [alarms] "
            "temperature sets when this is shown.",
        )  # fmt: skip
    if machine.is_under_voltage:
        yield Condition(
            "under_voltage", "power supply", Level.ATTENTION,
            "The power supply is too weak: the kernel reports under-voltage.",
            "Use a supply for this model of Raspberry Pi (5.1 V), with its own cable.",
        )  # fmt: skip
