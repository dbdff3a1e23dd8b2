"""Fields of NMEA 0183 sentences: their units, and what the library pynmeagps does not know of them.

Sources: NMEA 0183 3.01 and IEC 61162-1 for sentences and units; Vaisala, WXT530 user guide, for
the units of XDR that the standard does not have.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pynmeagps.nmeatypes_core import CH, DE  # type: ignore[import-untyped]

from firmware_bridge.protocols.text_values import NOT_MEASURED, name_for
from firmware_bridge.readings.measurement import Value
from firmware_bridge.readings.names import is_name

_DEPTH: Final = {
    "depthf": DE, "depthfu": CH, "depthm": DE, "depthmu": CH, "depthfath": DE, "depthfathu": CH,
}  # fmt: skip
_PRESSURE: Final = {"pressI": DE, "pressIu": CH, "pressB": DE, "pressBu": CH}
_HUMIDITY: Final = {"humidityRel": DE, "humidityAbs": DE, "dewPoint": DE, "dewPointu": CH}
_WIND: Final = {
    "angle": DE, "side": CH, "speedN": DE, "speedNu": CH, "speedM": DE, "speedMu": CH,
    "speedK": DE, "speedKu": CH,
}  # fmt: skip
MORE_SENTENCES: Final[Mapping[str, Mapping[str, str]]] = {
    "DBK": _DEPTH,
    "DBS": _DEPTH,
    "MDA": {
        **_PRESSURE, "airTemp": DE, "airTempu": CH, "waterTemp": DE, "waterTempu": CH, **_HUMIDITY,
        "dirT": DE, "dirTu": CH, "dirM": DE, "dirMu": CH, "speedN": DE, "speedNu": CH,
        "speedM": DE, "speedMu": CH,
    },
    "MHU": _HUMIDITY,
    "MMB": _PRESSURE,
    "MTA": {"temp": DE, "tempu": CH},
    "VWR": _WIND,
    "VWT": _WIND,
}  # fmt: skip
"""Sentences that the library does not know, in its notation: the names of the fields in order.
Weather instruments and depth sounders send them, although the standard now advises others.
"""

# Units by the library's field names, if a name has the same meaning in all sentences. Speeds in
# knots (`spd`, `sogn`) and carrier-to-noise ratios (dB-Hz) have no registered unit.
_UNITS: Final = {
    "lat": "lat", "lon": "lon", "alt": "m", "sep": "m", "altRef": "m", "hAcc": "m", "vAcc": "m",
    "stdLat": "m", "stdLong": "m", "stdAlt": "m", "stdMajor": "m", "stdMinor": "m",
    "rangeRms": "m", "HPE": "m", "VPE": "m", "EPE": "m", "depthm": "m",
    "cog": "deg", "cogt": "deg", "cogm": "deg", "COG": "deg", "mv": "deg", "orient": "deg",
    "headingT": "deg", "headingM": "deg", "headt": "deg", "deviation": "deg", "variation": "deg",
    "hdgT": "deg", "hdgM": "deg", "dirT": "deg", "dirM": "deg", "angle": "deg", "bearT": "deg",
    "bearM": "deg", "bearing": "deg", "bearO2D": "deg", "bearD": "deg", "bearS": "deg",
    "stbdangle": "deg", "portangle": "deg", "roll": "deg", "trueHdg": "deg",
    "sogk": "km/h", "SOG": "km/h", "speedK": "km/h", "speedM": "m/s", "vVel": "m/s",
    "HDOP": "/", "VDOP": "/", "PDOP": "/", "TDOP": "/", "numSV": "count", "numSVs": "count",
    "diffAge": "s", "airTemp": "Cel", "waterTemp": "Cel", "dewPoint": "Cel",
    "humidityRel": "%RH", "pressI": "inHg", "pressB": "bar", "rpm": "1/min",
}  # fmt: skip
_UNITS_IN_SENTENCE: Final = {
    "dpt/depth": "m", "dpt/offset": "m", "dpt/rangescale": "m", "pgrmt/temp": "Cel",
    "pashr/pitch": "deg",
}  # fmt: skip
_UNITS_OF_SATELLITES: Final = {"elv": "deg", "az": "deg"}
"""Units of repeated fields, which have a number after the name: `elv_01`."""
_METRES: Final = {"M": "m", "": "m"}
_SPEEDS: Final = {"K": "km/h", "M": "m/s", "S": "mph"}
_TEMPERATURES: Final = {"C": "Cel", "F": "degF"}
_UNIT_FIELDS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "mwv/speed": ("speedu", _SPEEDS),
    "vpw/spdK": ("spdKu", _SPEEDS),
    "vhw/spdK": ("spdKu", _SPEEDS),
    "mtw/temp": ("tempu", _TEMPERATURES),
    "mta/temp": ("tempu", _TEMPERATURES),
    "pgrmz/alt": ("altUnit", _METRES),  # feet, written as "f"
    "gga/alt": ("altUnit", _METRES),
    "gga/sep": ("sepUnit", _METRES),
}
"""Fields whose unit is in another field, with the meaning of its letters."""

_TRANSDUCERS: Final = {
    "A": "angle", "C": "temperature", "D": "displacement", "F": "frequency", "G": "generic",
    "H": "humidity", "I": "current", "L": "salinity", "N": "force", "P": "pressure", "R": "rate",
    "S": "switch", "T": "revolutions", "U": "voltage", "V": "volume", "Z": "duration",
}  # fmt: skip
_UNITS_OF_TRANSDUCERS: Final = {
    "AD": "deg", "CC": "Cel", "CF": "degF", "CK": "K", "DM": "m", "FH": "Hz", "HP": "%RH",
    "IA": "A", "NN": "N", "PB": "bar", "PP": "Pa", "PH": "hPa", "PI": "inHg", "RL": "l/s",
    "SK": "km/h", "SM": "m/s", "SS": "mph", "TR": "1/min", "UV": "V", "ZS": "s",
}  # fmt: skip
"""Units by the letters of the transducer's type and unit. Vaisala has S for speed, Z for time, and
the units H and I of pressure. `VM` and `RM` are missing: they mean m³ in the standard, mm at
Vaisala.
"""
_NAMES_MAX: Final = 1_000
"""Number of fields whose units are remembered, so that they are not searched in each sentence."""
_ENGINES: Final = {"E": "engine", "S": "shaft"}
_OF_ORIGIN: Final = frozenset({"angle", "speed", "rpm", "pitch"})
"""Fields of MWV and RPM that have the same names for different origins."""
_VALIDITY: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "mwv": {"status": ("angle", "speed")},
    "rot": {"valid": ("rot",)},
    "rpm": {"status": ("rpm", "pitch")},
    "rsa": {"stbdstatus": ("stbdangle",), "portstatus": ("portangle",)},
    "ths": {"mi": ("headt",)},
    "vbw": {
        "waterspdstatus": ("longwaterspd", "transwaterspd"),
        "groundspdstatus": ("longgroundspd", "transgroundspd"),
        "sternwaterspdstatus": ("sterntranswaterspd",),
        "sterngroundspdstatus": ("sterntransgroundspd",),
    },
    "xte": {"gwarn": ("ctrkerr",)},
}
"""Fields in which V means that numbers of the sentence are invalid, with the names of the numbers.
"""


def unit_of(quantity: str, name: str, fields: Mapping[str, Value]) -> str | None:
    """Return the SenML unit of the field `name`. `fields` are the fields of the same sentence."""
    if isinstance(fields[name], str):
        return None
    unit = _known_unit(quantity, name)
    if not isinstance(unit, tuple):
        return unit
    field, units = unit
    return units.get(str(fields.get(field, "")))


@lru_cache(_NAMES_MAX)
def _known_unit(quantity: str, name: str) -> str | tuple[str, Mapping[str, str]] | None:
    """Return the unit of a field, or the field that contains it with the meaning of its letters."""
    if (in_field := _UNIT_FIELDS.get(f"{quantity}/{name}")) is not None:
        return in_field
    base, _, number = name.rpartition("_")
    if number.isdecimal():
        return _UNITS_OF_SATELLITES.get(base)
    return _UNITS_IN_SENTENCE.get(f"{quantity}/{name}", _UNITS.get(name))


def values_of(
    quantity: str, fields: Mapping[str, Value], skipped: Counter[str]
) -> dict[str, tuple[Value, str | None]]:
    """Return the values of a sentence with their units, by name.

    Values of different origin have different names, because they arrive in turn: transducers
    (XDR), apparent and true wind (MWV), engines (RPM). `skipped` counts numbers that the device
    marks as invalid, and a position of 0, 0 without a fix.
    """
    if quantity == "xdr":
        return _transducers_of(fields, skipped)
    found = {name: (value, unit_of(quantity, name, fields)) for name, value in fields.items()}
    if quantity in _VALIDITY:
        for status, names in _VALIDITY[quantity].items():
            invalid = found.keys() & names if fields.get(status) == "V" else ()
            for name in invalid:
                del found[name]
                skipped[NOT_MEASURED] += 1
    has_no_fix = fields.get("quality") == 0 or fields.get("status") == "V"
    if has_no_fix and fields.get("lat") == fields.get("lon") == 0:
        del found["lat"], found["lon"]
        skipped[NOT_MEASURED] += 1
    suffix = _suffix_of(quantity, fields)
    if not suffix:
        return found
    return {name + suffix if name in _OF_ORIGIN else name: each for name, each in found.items()}


def _suffix_of(quantity: str, fields: Mapping[str, Value]) -> str:
    """Return what the names of a sentence's numbers need to be unique: `_true`, `_engine_1`."""
    if quantity == "mwv" and fields.get("reference") == "T":
        return "_true"
    if quantity == "rpm" and fields.get("source") in _ENGINES:
        return f"_{_ENGINES[str(fields['source'])]}_{fields.get('engineshaftnum', 0)!r}"
    return ""


def _transducers_of(
    fields: Mapping[str, Value], skipped: Counter[str]
) -> dict[str, tuple[Value, str | None]]:
    """Return the values of XDR under names of the transducers, such as `temperature_TempAir`."""
    found: dict[str, tuple[Value, str | None]] = {}
    for field, value in fields.items():
        base, _, number = field.rpartition("_")
        if base != "data":
            continue
        letter, unit, label = (
            str(fields.get(f"{each}_{number}", "")) for each in ("tdrtype", "dataunit", "tdrid")
        )
        kind = _TRANSDUCERS.get(letter, letter or "generic")
        if letter == "S" and unit:
            kind = "speed"
        name = f"{kind}_{name_for(label)}".strip("_")
        if not is_name(name) or name in found:
            skipped["name"] += 1
            continue
        found[name] = (value, _UNITS_OF_TRANSDUCERS.get((letter + unit).upper()))
    return found
