"""Units registered for SenML, and common spellings that devices use for them.

Source: the SenML Units and Secondary Units registries of IANA, from RFC 8428 (section 12.1) and RFC
8798 (sections 3 and 4), and later additions taken from RIOT OS (sys/senml, 2021): NTU, five
concentrations and VAh. Units that are missing here are allowed too, because the registries can
grow.
"""

from typing import Final

PRIMARY_UNITS: Final = frozenset(
    {
        "m", "kg", "g", "s", "A", "K", "cd", "mol", "Hz", "rad", "sr", "N", "Pa", "J", "W", "C",
        "V", "F", "Ohm", "S", "Wb", "T", "H", "Cel", "lm", "lx", "Bq", "Gy", "Sv", "kat", "m2",
        "m3", "l", "m/s", "m/s2", "m3/s", "l/s", "W/m2", "cd/m2", "bit", "bit/s", "lat", "lon",
        "pH", "dB", "dBW", "Bspl", "count", "/", "%", "%RH", "%EL", "EL", "1/s", "1/min",
        "beat/min", "beats", "S/m", "B", "VA", "VAs", "var", "vars", "J/m", "kg/m3", "deg",
        "NTU",
    }
)  # fmt: skip
SECONDARY_UNITS: Final = frozenset(
    {
        "ms", "min", "h", "MHz", "kW", "kVA", "kvar", "Ah", "Wh", "kWh", "varh", "kvarh", "kVAh",
        "Wh/km", "KiB", "GB", "Mbit/s", "B/s", "MB/s", "mV", "mA", "dBm", "ug/m3", "mm/h", "m/h",
        "ppm", "/100", "/1000", "hPa", "mm", "cm", "km", "km/h",
        "ppb", "ppt", "VAh", "mg/l", "ug/l", "g/l",
    }
)  # fmt: skip
UNITS: Final = PRIMARY_UNITS | SECONDARY_UNITS

_MEANT: Final = {
    "degc": "Cel", "°c": "Cel", "℃": "Cel", "celsius": "Cel", "kelvin": "K", "rh": "%RH",
    "% rh": "%RH", "percent": "%", "°": "deg", "degree": "deg", "degrees": "deg", "ohms": "Ohm",
    "ω": "Ohm", "volt": "V", "volts": "V", "amp": "A", "ampere": "A", "watt": "W", "watts": "W",
    "lux": "lx", "kmh": "km/h", "kph": "km/h", "mps": "m/s", "m/s^2": "m/s2", "m/s²": "m/s2",
    "liter": "l", "litre": "l", "m³": "m3", "m^3": "m3", "m²": "m2", "m^2": "m2",
    "m³/s": "m3/s", "w/m²": "W/m2", "sec": "s", "second": "s", "seconds": "s", "minute": "min",
    "minutes": "min", "hour": "h", "hours": "h", "amps": "A",
    "µg/m3": "ug/m3", "μg/m3": "ug/m3", "µg/m³": "ug/m3", "μg/m³": "ug/m3",
    "rpm": "1/min", "bpm": "beat/min", "pcs": "count", "mbar": "hPa", "millibar": "hPa",
    "pascal": "Pa", "hertz": "Hz", "meter": "m", "metre": "m", "gram": "g", "joule": "J",
}  # fmt: skip
"""Other spellings of registered units, in lower case, and the units that they mean. Values need no
conversion."""


def unit_meant_by(unit: str) -> str | None:
    """Convert a device's spelling of a unit to the registered unit, such as "celsius" to "Cel".

    Return None if the spelling is unknown.
    """
    meant = _MEANT.get(unit.lower())
    if meant is not None:
        return meant
    # Wrong case, as in "CEL" or "wh", is accepted if only one unit matches. For "mw" or "MS" the
    # case matters.
    found = [each for each in UNITS if each.lower() == unit.lower()]
    return found[0] if len(found) == 1 and len(unit) > 1 else None
