"""Home Assistant's device class, unit and state class for a value with a SenML unit.

Only unambiguous units get a device class. For example, `m3` can be gas or water, `ppm` can be any
gas, and `%` can be anything. Values in these units are shown with the unit alone. Class names and
allowed combinations come from Home Assistant. A test compares them with the version of Home
Assistant that docs/home-assistant.md names.
"""

from dataclasses import dataclass, replace
from typing import Final

from gateway.process.declarations.units import UNITS, unit_meant_by


@dataclass(frozen=True, slots=True)
class Shown:
    """Home Assistant's keys for a numeric value, derived from the value's unit.

    A key that is None is omitted.
    """

    unit: str | None
    device_class: str | None = None
    state_class: str | None = "measurement"


_SHOWN: Final = {
    "Cel": Shown("°C", "temperature"),
    "K": Shown("K", "temperature"),
    "%RH": Shown("%", "humidity"),
    "%EL": Shown("%", "battery"),
    "W": Shown("W", "power"),
    "kW": Shown("kW", "power"),
    "VA": Shown("VA", "apparent_power"),
    "var": Shown("var", "reactive_power"),
    "V": Shown("V", "voltage"),
    "mV": Shown("mV", "voltage"),
    "A": Shown("A", "current"),
    "mA": Shown("mA", "current"),
    "Hz": Shown("Hz", "frequency"),
    "MHz": Shown("MHz", "frequency"),
    "Pa": Shown("Pa", "pressure"),
    "hPa": Shown("hPa", "pressure"),
    "lx": Shown("lx", "illuminance"),
    "W/m2": Shown("W/m²", "irradiance"),
    "m/s": Shown("m/s", "speed"),
    "km/h": Shown("km/h", "speed"),
    "m": Shown("m", "distance"),
    "km": Shown("km", "distance"),
    "cm": Shown("cm", "distance"),
    "mm": Shown("mm", "distance"),
    "kg": Shown("kg", "weight"),
    "g": Shown("g", "weight"),
    "s": Shown("s", "duration"),
    "ms": Shown("ms", "duration"),
    "min": Shown("min", "duration"),
    "h": Shown("h", "duration"),
    "dBm": Shown("dBm", "signal_strength"),
    "pH": Shown(None, "ph"),
    # An amount outside a meter may rise and fall: without a state class there are no sums.
    "J": Shown("J", "energy", None),
    "Wh": Shown("Wh", "energy", None),
    "kWh": Shown("kWh", "energy", None),
    "m3": Shown("m³", None),
    "l": Shown("L", None),
    "m2": Shown("m²", None),
    "m3/s": Shown("m³/s", None),
    "m3/h": Shown("m³/h", "volume_flow_rate"),
    "l/s": Shown("L/s", None),
    "ug/m3": Shown("µg/m³", None),
    "m/s2": Shown("m/s²", None),
    "deg": Shown("°", None),
    # An average position has no meaning.
    "lat": Shown("°", None, None),
    "lon": Shown("°", None, None),
    "Ohm": Shown("Ω", None),
    "/": Shown(None, None),
    "count": Shown(None, None),
}
_METERED: Final = {
    "J": Shown("J", "energy", "total_increasing"),
    "Wh": Shown("Wh", "energy", "total_increasing"),
    "kWh": Shown("kWh", "energy", "total_increasing"),
    "MWh": Shown("MWh", "energy", "total_increasing"),
    "MJ": Shown("MJ", "energy", "total_increasing"),
    "GJ": Shown("GJ", "energy", "total_increasing"),
    "m3": Shown("m³", "volume", "total_increasing"),
    "varh": Shown("varh", None, "total_increasing"),
    "kvarh": Shown("kvarh", None, "total_increasing"),
    "kVAh": Shown("kVAh", None, "total_increasing"),
}
"""Meter registers by unit. They only grow, except net registers."""
_UNITS_BY_MEDIUM: Final = {
    ("gas", "m3"): Shown("m³", "gas", "total_increasing"),
    ("water", "m3"): Shown("m³", "water", "total_increasing"),
    ("water", "l"): Shown("L", "water", "total_increasing"),
}
"""Gas and water registers. The energy dashboard does not accept the device class `volume`."""


def shown_of(
    unit: str | None, *, is_meter: bool, is_net: bool = False, medium: str | None = None
) -> Shown:
    """Return Home Assistant's keys for values in a unit.

    Args:
        unit: the SenML unit, or the unit that the operator configured instead.
        is_meter: True if the device is a utility meter.
        is_net: True for a counter of imported minus exported energy, which can decrease.
        medium: the medium that the value measures, or None if it is unknown.
    """
    if unit is None:
        return Shown(None)
    known = unit if unit in UNITS else unit_meant_by(unit) or unit
    if medium is not None and (medium, known) in _UNITS_BY_MEDIUM:
        return _UNITS_BY_MEDIUM[medium, known]
    if is_meter and known in _METERED:
        return replace(_METERED[known], state_class="total") if is_net else _METERED[known]
    return _SHOWN.get(known, Shown(known))
