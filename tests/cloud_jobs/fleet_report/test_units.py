"""Units and values as people write them."""

import pytest

from api.wording import unit_of
from cloud_jobs.fleet_report.units import SYMBOLS, symbol_of, value_of
from gateway.process.declarations.units import UNITS


def test_units_have_their_symbols_and_are_bounded() -> None:
    assert [symbol_of(unit) for unit in ("Cel", "kWh", None, "/")] == ["°C", "kWh", "", ""]
    assert len(symbol_of("x" * 100)) == 24


@pytest.mark.parametrize("unit", sorted({*SYMBOLS, *UNITS}))
def test_the_report_and_the_status_page_write_a_unit_alike(unit: str) -> None:
    assert symbol_of(unit) == unit_of(unit)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "-"),
        (0.0, "0"),
        (21.5, "21.5"),
        (21.50049, "21.5"),
        (-3.0, "-3"),
        (0.000123456, "0.0001235"),
        (1_474.618, "1,474.62"),
        (100_000.0, "100,000"),
        (3e15, "3e+15"),
        (float("inf"), "inf"),
    ],
)
def test_a_value_has_the_digits_that_a_person_reads(value: float | None, expected: str) -> None:
    assert value_of(value) == expected
