"""Units and values of readings in readable form."""

from __future__ import annotations

import math
from typing import Final

from cloud_jobs.fleet_report.limits import NAME_CHARACTERS_WIDE

SYMBOLS: Final = {
    "Cel": "°C",
    "%RH": "% RH",
    "%EL": "%",
    "lat": "°",
    "lon": "°",
    "m2": "m²",
    "m3": "m³",
    "1/s": "/s",
    "m/s2": "m/s²",
    "W/m2": "W/m²",
    "Ohm": "Ω",
    "/": "",
}
"""SenML unit names (RFC 8428 section 12.1) that are shown as other symbols. The status page uses
the same symbols (api/wording.py). This package must run without the gateway's code, so the symbols
are repeated here, and a test compares them."""
_GROUPED_FROM: Final = 1_000
_EXPONENT_FROM: Final = 1e12


def symbol_of(unit: str | None) -> str:
    """Return the symbol of a unit, or an empty string for None."""
    return SYMBOLS.get(unit or "", unit or "")[:NAME_CHARACTERS_WIDE]


def value_of(value: float | None) -> str:
    """Return a value as text, or `-` for None.

    Values below 1 are rounded to 4 significant digits, and very large values to 6 significant
    digits. Other values have at most 3 decimal places.
    """
    if value is None:
        return "-"
    size = abs(value)
    if size >= _EXPONENT_FROM or not math.isfinite(value):
        return f"{value:.6g}"
    if 0 < size < 1:
        return f"{value:.4g}"
    text = f"{value:,.2f}" if size >= _GROUPED_FROM else f"{value:.3f}"
    return text.rstrip("0").rstrip(".")
