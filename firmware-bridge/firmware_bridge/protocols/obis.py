"""Names for the usual quantities of meters, keyed by OBIS code (IEC 62056-61).

A code has the form `A-B:C.D.E*F`: medium, channel, quantity, processing, tariff, period. If a code
is unknown, the code itself is used as the name, so that no value of a meter is lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

_MOMENTARY: Final[Mapping[int, str]] = {
    1: "power_import", 2: "power_export",
    3: "reactive_power_import", 4: "reactive_power_export",
    5: "reactive_power_q1", 6: "reactive_power_q2",
    7: "reactive_power_q3", 8: "reactive_power_q4",
    9: "apparent_power_import", 10: "apparent_power_export",
    11: "current", 12: "voltage", 13: "power_factor", 14: "frequency",
    15: "power_absolute", 16: "power",
}  # fmt: skip
"""Names of momentary electricity values (D is 7), keyed by C. These are totals of all phases. For
phase L1, C is 20 higher, for L2 40, and for L3 60. `q1` to `q4` are quadrants of reactive power."""
_METERED: Final[Mapping[int, str]] = {
    1: "energy_import", 2: "energy_export",
    3: "reactive_energy_import", 4: "reactive_energy_export",
    5: "reactive_energy_q1", 6: "reactive_energy_q2",
    7: "reactive_energy_q3", 8: "reactive_energy_q4",
    9: "apparent_energy_import", 10: "apparent_energy_export",
    15: "energy_absolute", 16: "energy_net",
}  # fmt: skip
"""Names of meter readings (D is 8), keyed by C. E is the tariff, or 0 for the total of all."""
_PHASES: Final = (1, 2, 3)
_TARIFFS: Final = range(1, 64)
"""Tariffs that IEC 62056-61 defines. Some meters begin at 11."""

_NAMES: Final[Mapping[str, str]] = {
    **{f"1-0:{c}.7.0": name for c, name in _MOMENTARY.items()},
    **{
        f"1-0:{c + 20 * phase}.7.0": f"{name}_l{phase}"
        for c, name in _MOMENTARY.items()
        for phase in _PHASES
    },
    **{f"1-0:{c}.8.0": name for c, name in _METERED.items()},
    **{
        f"1-0:{c}.8.{tariff}": f"{name}_t{tariff}"
        for c, name in _METERED.items()
        for tariff in _TARIFFS
    },
    **{
        f"1-0:{c + 20 * phase}.8.0": f"{name}_l{phase}"
        for c, name in _METERED.items()
        for phase in _PHASES
    },
    "1-0:91.7.0": "current_neutral",
    "0-0:1.0.0": "meter_time",
    "0-0:96.1.0": "meter_id",
    "0-0:96.1.1": "meter_id",
    "1-0:96.1.0": "meter_id",
    "0-0:96.1.4": "p1_version",
    "0-0:96.1.2": "ean",
    "0-0:42.0.0": "logical_device",
    "1-3:0.2.8": "p1_version",
    "1-0:96.50.1.1": "manufacturer",
    "1-0:0.0.9": "server_id",
    "129-129:199.130.5": "public_key",
    "129-129:199.130.3": "manufacturer",
    "0-0:96.14.0": "tariff",
    "0-0:96.3.10": "switch",
    "0-0:96.50.68": "switch",  # Sanxing meters in Hungary
    "0-0:17.0.0": "power_limit",
    "0-0:96.7.21": "power_failures",
    "0-0:96.7.9": "long_power_failures",
    "1-0:99.97.0": "power_failure_log",
    "0-0:96.13.0": "message",
    "0-0:96.13.1": "message_code",
    "0-0:98.1.0": "monthly_values",
    "1-0:99.1.0": "interval_values",
    "1-0:1.4.0": "power_import_average",
    "1-0:2.4.0": "power_export_average",
    "1-0:1.6.0": "power_peak",
    "1-0:2.6.0": "power_export_peak",
    "1-0:96.5.5": "meter_status",
    "0-0:96.5.5": "meter_status",
    "1-0:0.0.0": "meter_number",
    "0-0:0.0.0": "meter_number",  # Sagemcom XT211 in Switzerland
    "1-0:31.4.0": "current_limit_l1",
    "1-0:51.4.0": "current_limit_l2",
    "1-0:71.4.0": "current_limit_l3",
    "1-0:32.32.0": "voltage_sags_l1",
    "1-0:52.32.0": "voltage_sags_l2",
    "1-0:72.32.0": "voltage_sags_l3",
    "1-0:32.36.0": "voltage_swells_l1",
    "1-0:52.36.0": "voltage_swells_l2",
    "1-0:72.36.0": "voltage_swells_l3",
    "1-0:F.F": "error_code",
    "1-0:F.F.0": "error_code",
    "1-0:0.9.1": "meter_clock",
    "1-0:0.9.2": "meter_date",
    "1-0:C.1.0": "meter_id",
    "1-0:0.1.0": "billing_resets",
    "1-0:0.2.129": "list_version",
    "1-0:0.0.5": "meter_number",
    "0-0:96.1.7": "meter_type",
    "1-0:96.1.1": "meter_type",
}
_MBUS_NAMES: Final[Mapping[str, str]] = {
    "24.1.0": "type",
    "24.2.1": "reading",
    "24.2.3": "reading",  # Belgian gas, not converted to normal temperature
    "24.4.0": "valve",
    "96.3.10": "switch",
    "96.1.0": "id",
    "96.1.1": "id",
    "96.1.2": "ean",
}
"""Names for the gas, water and heat meters that are connected to an electricity meter. They use the
channels from 1 upwards."""

_OF_HEAT: Final[Mapping[str, str]] = {
    "0.0": "meter_number",
    "6.6": "power_max",
    "6.8": "energy",
    "6.26": "volume",
    "6.31": "operating_time",
    "6.32": "error_time",
    "6.33": "volume_flow_max",
    "6.35": "measuring_period",
    "9.4": "temperature_max",
    "9.20": "meter_number",
    "9.21": "customer",
    "9.36": "meter_clock",
    "F.F": "error_code",
}
"""Names for short codes of heat meters (Landis+Gyr UH50 and T550, Kamstrup Multical). In
electricity meters, `6.8` is reactive energy. The period `*01` marks a value at a reading date."""
_NUMBERS_OF_HEAT: Final = frozenset({"6.6", "6.8", "6.26", "6.31", "6.32", "6.33", "9.4"})

_POWER_FAILURES: Final = ("96", "7")
"""C and D of counts and durations of power failures. Other values with this C are strings."""
_TEXTS_OF_MBUS: Final = frozenset({"24.1.0", "24.4.0"})
_ENERGY_UNITS: Final = ("kWh", "MWh", "MJ", "GJ")
_MAXIMUM: Final = "6"
"""D of the largest average power since the last reset. Some meters are never reset."""
_LOGS: Final = frozenset({"98", "99"})
"""Values of C for lists: billing values, load profiles and logs of events."""
_MEASURED = range(1, 94)
"""Values of C for measured quantities. Other values describe the meter, its state or an error."""
_MEASURED_ABSTRACT: Final = (17, 24)
"""Values of C for measured quantities if A is 0, which is not a medium: 17 for limits, and 24 for
meters on M-Bus channels."""


@dataclass(frozen=True)
class Code:
    """The parts of an OBIS code. If F is 255, `f` is None."""

    a: str
    b: str
    c: str
    d: str
    e: str | None
    f: str | None = None

    @classmethod
    def of(cls, parts: Sequence[str | None]) -> Self:
        """Create a code from its six parts, A to F.

        A missing A becomes 1 (electricity), and a missing B becomes 0. The value 255 means that a
        part is not used: such an E becomes 0, and such an F becomes None.
        """
        a, b, c, d, e, f = parts
        assert c is not None, "a code has a quantity"
        assert d is not None, "a code has a processing"
        return cls(a or "1", b or "0", c, d, "0" if e == "255" else e, None if f == "255" else f)

    @property
    def is_short(self) -> bool:
        """True if the code consists of C, D and perhaps F, like `6.8*01`."""
        return (self.a, self.b, self.e) == ("1", "0", None)

    @property
    def quantity(self) -> str:
        """Quantity, processing, tariff and period in the usual notation, such as `1.8.0`."""
        return ".".join(each for each in (self.c, self.d, self.e, self.f) if each is not None)

    def __str__(self) -> str:
        return f"{self.a}-{self.b}:{self.quantity}"


def name_of(code: Code) -> str:
    """Return the name of a code's quantity, or the code itself if no name is known."""
    if code.a == "0" and code.b != "0" and code.quantity in _MBUS_NAMES:
        return f"mbus_{code.b}_{_MBUS_NAMES[code.quantity]}"
    # IEC 62056-21 meters may omit a tariff of 0: `32.7`.
    written = code if code.e is not None or code.f is not None else replace(code, e="0")
    return _NAMES.get(str(code)) or _NAMES.get(str(written)) or str(code)


def is_of_heat(code: Code, groups: Sequence[str]) -> bool:
    """Return True if a value with this code can only come from a heat meter.

    Such a value has the code 6.26, or the code 6.8 and a unit of energy, such as kWh. `groups`
    contains the strings in parentheses after the code, which include the unit.
    """
    if not code.is_short or (code.c, code.d) not in (("6", "8"), ("6", "26")):
        return False
    return code.d == "26" or any(each.endswith(_ENERGY_UNITS) for each in groups)


def heat_name_of(code: Code) -> str:
    """Return the name of a heat meter's value, or the code itself if no name is known."""
    name = _OF_HEAT.get(f"{code.c}.{code.d}") if code.is_short else None
    if name is None:
        return str(code) if code.is_short else name_of(code)
    return name if code.f is None else f"{name}_storage_{int(code.f)}"


def is_number_of_heat(code: Code) -> bool:
    """Return True if a heat meter's values with this code are numbers, even without a unit."""
    return code.is_short and f"{code.c}.{code.d}" in _NUMBERS_OF_HEAT


def is_log(code: Code) -> bool:
    """Return True if the values of this code are lists of earlier values."""
    return code.c in _LOGS


def is_past(code: Code) -> bool:
    """Return True if the time of this code's value may be years ago.

    Such a value is a maximum, or belongs to an earlier billing period.
    """
    return code.d == _MAXIMUM or code.f is not None


def is_text_of_mbus(code: Code) -> bool:
    """Return True for the type or the valve of a meter on an M-Bus channel.

    Both are texts, even if the electricity meter sends them as numbers.
    """
    return code.a == "0" and code.quantity in _TEXTS_OF_MBUS


def is_number(code: Code) -> bool:
    """Return True if the values of this code are numbers, even without a unit."""
    if (code.c, code.d) == _POWER_FAILURES:
        return True
    if not code.c.isdecimal() or code.quantity in _TEXTS_OF_MBUS:
        return False
    return int(code.c) in (_MEASURED_ABSTRACT if code.a == "0" else _MEASURED)
