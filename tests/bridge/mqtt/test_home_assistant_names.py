"""Readable names, and the physical quantity that a value belongs to."""

import pytest
from firmware_bridge.mqtt.home_assistant_names import (
    friendly_name_of,
    is_diagnostic,
    is_interval,
    is_net,
    is_register,
    medium_of,
)

TYPES = {"mbus_1_type": "003", "mbus_2_type": "007", "mbus_3_type": "3", "mbus_4_type": "??"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("energy_import_t1", "Energy import T1"),
        ("energy_import_t13", "Energy import T13"),
        ("voltage_l3", "Voltage L3"),
        ("gga/alt", "GGA alt"),
        ("mbus_1_reading", "Gas reading"),
        ("mbus_2_id", "Water ID"),
        ("mbus_5_reading", "M-Bus 5 reading"),
        ("p1_version", "P1 version"),
        ("1-0:99.1.0", "1-0:99.1.0"),
        ("Füllstand", "Füllstand"),
        ("_", "_"),
    ],
)
def test_a_name_is_one_that_people_read(name: str, shown: str) -> None:
    assert friendly_name_of(name, TYPES) == shown


@pytest.mark.parametrize(
    ("name", "medium"),
    [
        ("mbus_1_reading", "gas"),
        ("mbus_2_reading", "water"),
        ("mbus_3_reading", "gas"),
        ("mbus_4_reading", None),
        ("mbus_5_reading", None),
        ("7-0:3.0.0", "gas"),
        ("8-0:1.0.0", "water"),
        ("1-0:1.8.0", None),
        ("gas_meter", "gas"),
        ("cold_water_total", "water"),
        ("water_level", None),
        ("gas_resistance", None),
    ],
)
def test_the_medium_of_a_value_is_known_by_type_code_or_name(name: str, medium: str | None) -> None:
    assert medium_of(name, TYPES) == medium


def test_versions_and_identifiers_are_diagnostic_and_what_is_measured_is_not() -> None:
    of_device = ["p1_version", "meter_id", "mbus_1_id", "mbus_1_type", "ean", "manufacturer"]
    measured = ["energy_import", "humid", "valid", "mbus_1_reading", "tariff", "gga/fix"]
    assert [each for each in [*of_device, *measured] if is_diagnostic(each)] == of_device


def test_counters_of_energy_are_known_by_their_names_in_every_protocol() -> None:
    counters = ["energy_import", "energy_export_l1", "energy_total", "yield_total", "energy_today"]
    counters += ["energy_charged", "energy_discharged"]
    counters += ["reactive_energy_total", "apparent_energy_import"]
    others = [
        "energy",
        "energy_left",
        "energy_totality",
        "battery_energy_import",
        "yield_yesterday",
    ]
    assert [each for each in [*counters, *others] if is_register(each)] == counters


def test_an_amount_of_one_interval_is_no_counter() -> None:
    amounts = ["interval_values/1", "interval_values/2", "1-0:1.29.0", "1-1:2.29.0.01"]
    amounts += ["1-0:1.8.0.96", "1-0:2.8.0.99"]
    others = ["energy_import", "1-0:1.8.0", "monthly_values/1", "1-0:29.8.0", "interval"]
    others += ["1-0:1.8.0.100", "1-0:1.8.0.01"]
    assert [each for each in [*amounts, *others] if is_interval(each)] == amounts


def test_an_extreme_value_is_no_counter() -> None:
    extremes = ["energy_max", "volume_min_t1", "energy_error_storage_1", "energy_import_max"]
    assert [each for each in [*extremes, "energy_storage_1"] if is_interval(each)] == extremes
    assert medium_of("8-1:1.29.0", {}) is None


def test_a_net_counter_is_known_by_its_name_and_its_codes() -> None:
    counters = ["energy_net", "energy_net_l1", "1-0:16.8.0.18", "1-1:36.8.0"]
    assert [each for each in [*counters, "energy_import", "1-0:1.8.0"] if is_net(each)] == counters
