"""Names of what meters measure."""

import pytest
from firmware_bridge.protocols.obis import name_of
from firmware_bridge.readings.names import is_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("1-0:1.8.1", "energy_import_t1"),
        ("0-2:24.2.1", "mbus_2_reading"),
        ("0-0:24.2.1", "0-0:24.2.1"),
        ("255-255:255.255.255", "255-255:255.255.255"),
    ],
)
def test_a_code_has_a_name_and_otherwise_is_one(code: str, name: str) -> None:
    assert name_of(code) == name
    assert is_name(name)
