"""The units that are registered for SenML."""

import pytest

from gateway.process.declarations.units import PRIMARY_UNITS, SECONDARY_UNITS, UNITS, unit_meant_by


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("degC", "Cel"), ("°C", "Cel"), ("celsius", "Cel"), ("%rh", "%RH"), ("mbar", "hPa"),
        ("kwh", "kWh"), ("m³", "m3"), ("km/H", "km/h"), ("LUX", "lx"),
        ("MBit/s", "Mbit/s"), ("mg/L", "mg/l"), ("PPB", "ppb"), ("ntu", "NTU"),
        # These differ by a factor or may mean several units, so no unit is suggested.
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


def test_the_registries_have_what_their_rfcs_and_later_registrations_put_there() -> None:
    # RFC 8428 lists 58 units in section 12.1. RFC 8798 lists 8 in section 3 and 33 in section 4.
    # NTU and six secondary units were registered later.
    assert len(PRIMARY_UNITS) == 58 + 8 + 1
    assert len(SECONDARY_UNITS) == 33 + 6
