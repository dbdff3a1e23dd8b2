"""The device classes and units of Home Assistant that correspond to SenML's units."""

import pytest
from firmware_bridge.mqtt.home_assistant_units import SensorKeys, sensor_keys_of
from firmware_bridge.protocols import joined_units

from gateway.process.declarations.units import UNITS
from tests.bridge.mqtt.home_assistant import SENSOR_CLASSES


@pytest.mark.parametrize("medium", [None, "gas", "water", "heat"])
@pytest.mark.parametrize("is_meter", [False, True])
def test_home_assistant_allows_each_pair_of_class_and_unit(
    is_meter: bool, medium: str | None
) -> None:
    for unit in sorted({*UNITS, *joined_units.UNITS, "degF", "GJ", "MJ", "MWh", "d"}):
        shown = sensor_keys_of(unit, is_meter=is_meter, medium=medium)
        if shown.device_class is not None:
            units, state_classes = SENSOR_CLASSES[shown.device_class]
            assert shown.unit in units, unit
            assert shown.state_class is None or shown.state_class in state_classes, unit


@pytest.mark.parametrize(
    ("unit", "is_meter", "shown"),
    [
        ("Cel", False, SensorKeys("°C", "temperature")),
        ("degC", False, SensorKeys("°C", "temperature")),
        ("%RH", False, SensorKeys("%", "humidity")),
        ("degF", False, SensorKeys("°F", "temperature")),
        ("bar", False, SensorKeys("bar", "pressure")),
        ("inHg", False, SensorKeys("inHg", "pressure")),
        ("mph", False, SensorKeys("mph", "speed")),
        ("lb", False, SensorKeys("lb", "weight")),
        ("kWh", True, SensorKeys("kWh", "energy", "total_increasing")),
        ("kWh", False, SensorKeys("kWh", "energy", None)),
        ("m3", True, SensorKeys("m³", "volume", "total_increasing")),
        ("m3", False, SensorKeys("m³")),
        ("ppm", False, SensorKeys("ppm")),
        ("lat", False, SensorKeys("°", None, None)),
        ("widgets", False, SensorKeys("widgets")),
        ("pH", False, SensorKeys(None, "ph")),
        ("d", True, SensorKeys("d", "duration")),
        (None, False, SensorKeys(None)),
    ],
)
def test_a_unit_has_a_class_where_that_is_unambiguous(
    unit: str | None, is_meter: bool, shown: SensorKeys
) -> None:
    assert sensor_keys_of(unit, is_meter=is_meter) == shown


@pytest.mark.parametrize(
    ("unit", "medium", "shown"),
    [
        ("m3", "gas", SensorKeys("m³", "gas", "total_increasing")),
        ("m3", "water", SensorKeys("m³", "water", "total_increasing")),
        ("l", "water", SensorKeys("L", "water", "total_increasing")),
        ("GJ", "heat", SensorKeys("GJ", "energy", "total_increasing")),
        ("m3", "heat", SensorKeys("m³", "volume", "total_increasing")),
        ("kWh", "gas", SensorKeys("kWh", "energy", "total_increasing")),
    ],
)
def test_a_meter_of_gas_or_water_has_the_class_that_the_energy_page_takes(
    unit: str, medium: str, shown: SensorKeys
) -> None:
    assert sensor_keys_of(unit, is_meter=True, medium=medium) == shown


def test_registers_without_a_class_only_grow() -> None:
    assert sensor_keys_of("J", is_meter=True) == SensorKeys("J", "energy", "total_increasing")
    assert sensor_keys_of("kvarh", is_meter=True) == SensorKeys("kvarh", None, "total_increasing")


@pytest.mark.parametrize("unit", ["J", "Wh", "kWh", "MWh", "MJ", "GJ"])
def test_energy_that_is_not_a_register_has_a_class_and_no_state_class(unit: str) -> None:
    assert sensor_keys_of(unit, is_meter=False) == SensorKeys(unit, "energy", None)


@pytest.mark.parametrize("unit", ["varh", "kvarh", "VAh", "kVAh"])
def test_reactive_and_apparent_energy_only_grow_in_a_register(unit: str) -> None:
    assert sensor_keys_of(unit, is_meter=False) == SensorKeys(unit, None, None)
    assert sensor_keys_of(unit, is_meter=True) == SensorKeys(unit, None, "total_increasing")


def test_a_net_register_may_decrease() -> None:
    shown = sensor_keys_of("kWh", is_meter=True, is_net=True)
    assert shown == SensorKeys("kWh", "energy", "total")
