"""Alarm conditions for the processor's temperature and its power supply."""

import pytest

from api.alarms.conditions.machine import conditions_of_machine
from api.alarms.conditions.thresholds import Thresholds
from api.status.machine import Machine


@pytest.mark.parametrize(
    ("temperature", "is_under_voltage", "identifiers"),
    [
        (None, False, []),
        (79.9, False, []),
        (80.0, False, ["temperature"]),
        (20.0, True, ["under_voltage"]),
        (85.0, True, ["temperature", "under_voltage"]),
    ],
)
def test_a_hot_processor_and_a_weak_supply_are_conditions(
    temperature: float | None, is_under_voltage: bool, identifiers: list[str]
) -> None:
    machine = Machine(None, None, temperature, None, is_under_voltage)
    found = conditions_of_machine(machine, Thresholds())
    assert [condition.id for condition in found] == identifiers
