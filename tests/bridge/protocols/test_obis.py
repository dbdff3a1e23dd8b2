"""Names for the OBIS codes of meters."""

import pytest
from firmware_bridge.protocols.obis import Code, is_number, name_of
from firmware_bridge.readings.names import is_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("1-0:1.8.1", "energy_import_t1"),
        ("0-2:24.2.1", "mbus_2_reading"),
        ("0-0:24.2.1", "0-0:24.2.1"),
        ("0-2:96.3.10", "mbus_2_switch"),
        ("255-255:255.255.254", "255-255:255.255.254"),
        ("1-0:21.7.255", "power_import_l1"),
        ("1-0:1.7.0", "power_import"),
        ("1-0:36.7.0", "power_l1"),
        ("1-0:72.7.0", "voltage_l3"),
        ("1-0:9.7.0", "apparent_power_import"),
        ("1-0:63.7.0", "reactive_power_import_l3"),
        ("1-0:5.8.0", "reactive_energy_q1"),
        ("1-0:3.8.2", "reactive_energy_import_t2"),
        ("1-0:1.8.63", "energy_import_t63"),
        ("1-0:1.8.64", "1-0:1.8.64"),
        ("1-0:41.8.0", "energy_import_l2"),
        ("1-0:16.8.0", "energy_net"),
        ("1-0:21.8.1", "1-0:21.8.1"),
    ],
)
def test_a_code_has_a_name_and_otherwise_is_one(code: str, name: str) -> None:
    assert name_of(code_of(code)) == name
    assert is_name(name)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("1-0:13.7.0", True),
        ("1-0:200.7.0", False),
        ("0-0:96.7.21", True),
        ("0-0:96.7.19", True),
        ("0-1:96.7.0", True),
        ("0-0:96.14.0", False),
        ("0-0:1.0.0", False),
        ("1-0:0.0.0", False),
        ("0-1:24.1.0", False),
        ("0-1:24.2.1", True),
        ("1-0:F.F.0", False),
        ("0-0:17.0.0", True),
    ],
)
def test_a_code_shows_whether_its_values_are_numbers(code: str, *, expected: bool) -> None:
    assert is_number(code_of(code)) == expected


def code_of(text: str) -> Code:
    media, _, rest = text.partition(":")
    return Code.of([*media.split("-"), *rest.split("."), "255"])
