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
class SensorKeys:
    """Home Assistant's unit, device class and state class for a numeric value.

    A key that is None is left out of the value's description.
    """

    unit: str | None
    device_class: str | None = None
    state_class: str | None = "measurement"


_KEYS: Final = {
    "Cel": SensorKeys("°C", "temperature"),
    "degF": SensorKeys("°F", "temperature"),
    "K": SensorKeys("K", "temperature"),
    "%RH": SensorKeys("%", "humidity"),
    "%EL": SensorKeys("%", "battery"),
    "W": SensorKeys("W", "power"),
    "kW": SensorKeys("kW", "power"),
    "MW": SensorKeys("MW", "power"),
    "VA": SensorKeys("VA", "apparent_power"),
    "var": SensorKeys("var", "reactive_power"),
    "V": SensorKeys("V", "voltage"),
    "mV": SensorKeys("mV", "voltage"),
    "A": SensorKeys("A", "current"),
    "mA": SensorKeys("mA", "current"),
    "Hz": SensorKeys("Hz", "frequency"),
    "kHz": SensorKeys("kHz", "frequency"),
    "MHz": SensorKeys("MHz", "frequency"),
    "Pa": SensorKeys("Pa", "pressure"),
    "hPa": SensorKeys("hPa", "pressure"),
    "kPa": SensorKeys("kPa", "pressure"),
    "bar": SensorKeys("bar", "pressure"),
    "psi": SensorKeys("psi", "pressure"),
    "inHg": SensorKeys("inHg", "pressure"),
    "lx": SensorKeys("lx", "illuminance"),
    "W/m2": SensorKeys("W/m²", "irradiance"),
    "m/s": SensorKeys("m/s", "speed"),
    "km/h": SensorKeys("km/h", "speed"),
    "mph": SensorKeys("mph", "speed"),
    "kn": SensorKeys("kn", "speed"),
    "m": SensorKeys("m", "distance"),
    "km": SensorKeys("km", "distance"),
    "cm": SensorKeys("cm", "distance"),
    "mm": SensorKeys("mm", "distance"),
    "kg": SensorKeys("kg", "weight"),
    "g": SensorKeys("g", "weight"),
    "mg": SensorKeys("mg", "weight"),
    "lb": SensorKeys("lb", "weight"),
    "oz": SensorKeys("oz", "weight"),
    "s": SensorKeys("s", "duration"),
    "ms": SensorKeys("ms", "duration"),
    "min": SensorKeys("min", "duration"),
    "h": SensorKeys("h", "duration"),
    "d": SensorKeys("d", "duration"),
    "dBm": SensorKeys("dBm", "signal_strength"),
    "pH": SensorKeys(None, "ph"),
    # An amount outside a meter may rise and fall: without a state class there are no sums.
    "J": SensorKeys("J", "energy", None),
    "Wh": SensorKeys("Wh", "energy", None),
    "kWh": SensorKeys("kWh", "energy", None),
    "MWh": SensorKeys("MWh", "energy", None),
    "MJ": SensorKeys("MJ", "energy", None),
    "GJ": SensorKeys("GJ", "energy", None),
    "varh": SensorKeys("varh", None, None),
    "kvarh": SensorKeys("kvarh", None, None),
    "VAh": SensorKeys("VAh", None, None),
    "kVAh": SensorKeys("kVAh", None, None),
    "m3": SensorKeys("m³", None),
    "l": SensorKeys("L", None),
    "m2": SensorKeys("m²", None),
    "m3/s": SensorKeys("m³/s", None),
    "m3/h": SensorKeys("m³/h", "volume_flow_rate"),
    "m3/min": SensorKeys("m³/min", None),
    "l/s": SensorKeys("L/s", None),
    "l/min": SensorKeys("L/min", "volume_flow_rate"),
    "ug/m3": SensorKeys("µg/m³", None),
    "m/s2": SensorKeys("m/s²", None),
    "deg": SensorKeys("°", None),
    # An average position has no meaning.
    "lat": SensorKeys("°", None, None),
    "lon": SensorKeys("°", None, None),
    "Ohm": SensorKeys("Ω", None),
    "kOhm": SensorKeys("kΩ", None),
    "MOhm": SensorKeys("MΩ", None),
    "uS/cm": SensorKeys("µS/cm", None),
    "/": SensorKeys(None, None),
    "count": SensorKeys(None, None),
}
_METERED: Final = {
    "J": SensorKeys("J", "energy", "total_increasing"),
    "Wh": SensorKeys("Wh", "energy", "total_increasing"),
    "kWh": SensorKeys("kWh", "energy", "total_increasing"),
    "MWh": SensorKeys("MWh", "energy", "total_increasing"),
    "MJ": SensorKeys("MJ", "energy", "total_increasing"),
    "GJ": SensorKeys("GJ", "energy", "total_increasing"),
    "m3": SensorKeys("m³", "volume", "total_increasing"),
    "varh": SensorKeys("varh", None, "total_increasing"),
    "kvarh": SensorKeys("kvarh", None, "total_increasing"),
    "VAh": SensorKeys("VAh", None, "total_increasing"),
    "kVAh": SensorKeys("kVAh", None, "total_increasing"),
}
"""Meter registers by unit. They only grow, except net registers."""
_UNITS_BY_MEDIUM: Final = {
    ("gas", "m3"): SensorKeys("m³", "gas", "total_increasing"),
    ("water", "m3"): SensorKeys("m³", "water", "total_increasing"),
    ("water", "l"): SensorKeys("L", "water", "total_increasing"),
}
"""Gas and water registers. The energy dashboard does not accept the device class `volume`."""


def sensor_keys_of(
    unit: str | None, *, is_meter: bool, is_net: bool = False, medium: str | None = None
) -> SensorKeys:
    """Return Home Assistant's unit, device class and state class for values in a unit.

    Args:
        unit: the SenML unit, or the unit that the operator configured instead.
        is_meter: True if the device is a utility meter.
        is_net: True for a counter of imported minus exported energy, which can decrease.
        medium: the medium that the value measures, or None if it is unknown.
    """
    if unit is None:
        return SensorKeys(None)
    known = unit if unit in UNITS else unit_meant_by(unit) or unit
    if medium is not None and (medium, known) in _UNITS_BY_MEDIUM:
        return _UNITS_BY_MEDIUM[medium, known]
    if is_meter and known in _METERED:
        return replace(_METERED[known], state_class="total") if is_net else _METERED[known]
    return _KEYS.get(known, SensorKeys(known))
