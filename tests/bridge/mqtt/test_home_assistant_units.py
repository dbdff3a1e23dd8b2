"""The device classes and units of Home Assistant that correspond to SenML's units."""

import pytest
from firmware_bridge.mqtt.home_assistant_units import Shown, shown_of

from gateway.process.declarations.units import UNITS
from tests.bridge.mqtt.home_assistant import SENSOR_CLASSES


@pytest.mark.parametrize("medium", [None, "gas", "water", "heat"])
@pytest.mark.parametrize("is_meter", [False, True])
def test_home_assistant_allows_each_pair_of_class_and_unit(
    is_meter: bool, medium: str | None
) -> None:
    for unit in sorted({*UNITS, "GJ", "MJ", "MWh"}):
        shown = shown_of(unit, is_meter=is_meter, medium=medium)
        if shown.device_class is not None:
            units, state_classes = SENSOR_CLASSES[shown.device_class]
            assert shown.unit in units, unit
            assert shown.state_class is None or shown.state_class in state_classes, unit


@pytest.mark.parametrize(
    ("unit", "is_meter", "shown"),
    [
        ("Cel", False, Shown("°C", "temperature")),
        ("degC", False, Shown("°C", "temperature")),
        ("%RH", False, Shown("%", "humidity")),
        ("kWh", True, Shown("kWh", "energy", "total_increasing")),
        ("kWh", False, Shown("kWh", "energy", None)),
        ("m3", True, Shown("m³", "volume", "total_increasing")),
        ("m3", False, Shown("m³")),
        ("ppm", False, Shown("ppm")),
        ("lat", False, Shown("°", None, None)),
        ("widgets", False, Shown("widgets")),
        ("pH", False, Shown(None, "ph")),
        (None, False, Shown(None)),
    ],
)
def test_a_unit_has_a_class_where_that_is_unambiguous(
    unit: str | None, is_meter: bool, shown: Shown
) -> None:
    assert shown_of(unit, is_meter=is_meter) == shown


@pytest.mark.parametrize(
    ("unit", "medium", "shown"),
    [
        ("m3", "gas", Shown("m³", "gas", "total_increasing")),
        ("m3", "water", Shown("m³", "water", "total_increasing")),
        ("l", "water", Shown("L", "water", "total_increasing")),
        ("GJ", "heat", Shown("GJ", "energy", "total_increasing")),
        ("m3", "heat", Shown("m³", "volume", "total_increasing")),
        ("kWh", "gas", Shown("kWh", "energy", "total_increasing")),
    ],
)
def test_a_meter_of_gas_or_water_has_the_class_that_the_energy_page_takes(
    unit: str, medium: str, shown: Shown
) -> None:
    assert shown_of(unit, is_meter=True, medium=medium) == shown


def test_registers_without_a_class_only_grow() -> None:
    assert shown_of("J", is_meter=True) == Shown("J", "energy", "total_increasing")
    assert shown_of("kvarh", is_meter=True) == Shown("kvarh", None, "total_increasing")


def test_a_net_register_may_decrease() -> None:
    shown = shown_of("kWh", is_meter=True, is_net=True)
    assert shown == Shown("kWh", "energy", "total")
