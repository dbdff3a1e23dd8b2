"""The units that SenML knows."""

import pytest

from gateway.keys.units import PRIMARY_UNITS, SECONDARY_UNITS, UNITS, unit_meant_by


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("degC", "Cel"), ("°C", "Cel"), ("celsius", "Cel"), ("%rh", "%RH"), ("mbar", "hPa"),
        ("kwh", "kWh"), ("m³", "m3"), ("km/H", "km/h"), ("LUX", "lx"),
        # A factor apart, or one of several: nothing is suggested.
        ("degF", None), ("knots", None), ("mw", None), ("Mw", None), ("x", None),
    ],
)  # fmt: skip
def test_another_spelling_stands_for_a_registered_unit(written: str, meant: str | None) -> None:
    assert written not in UNITS
    assert unit_meant_by(written) == meant
    assert meant is None or meant in UNITS


def test_no_unit_is_in_both_registries() -> None:
    assert not PRIMARY_UNITS & SECONDARY_UNITS
    assert {"Cel", "lat", "%RH"} <= PRIMARY_UNITS
    assert {"kWh", "hPa", "km/h"} <= SECONDARY_UNITS
