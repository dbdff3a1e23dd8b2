"""What meters measure, by OBIS code (IEC 62056-61): names and units of the usual quantities.

A code is `A-B:C.D.E`: medium, channel, quantity, processing, tariff. One that is not known here is
its own name, so that nothing that a meter sends is left out.
"""

import re
from collections.abc import Mapping
from typing import Final

_NAMES: Final[Mapping[str, str]] = {
    "0-0:1.0.0": "meter_time",
    "0-0:96.1.0": "meter_id",
    "0-0:96.1.1": "meter_id",
    "1-0:96.1.0": "meter_id",
    "0-0:96.1.4": "p1_version",
    "1-3:0.2.8": "p1_version",
    "1-0:96.50.1.1": "manufacturer",
    "1-0:0.0.9": "server_id",
    "1-0:15.7.0": "power_absolute",
    "129-129:199.130.5": "public_key",
    "129-129:199.130.3": "manufacturer",
    "0-0:96.14.0": "tariff",
    "0-0:96.3.10": "switch",
    "0-0:17.0.0": "power_limit",
    "0-0:96.7.21": "power_failures",
    "0-0:96.7.9": "long_power_failures",
    "1-0:99.97.0": "power_failure_log",
    "0-0:96.13.0": "message",
    "0-0:96.13.1": "message_code",
    "1-0:1.8.0": "energy_import",
    "1-0:1.8.1": "energy_import_t1",
    "1-0:1.8.2": "energy_import_t2",
    "1-0:2.8.0": "energy_export",
    "1-0:2.8.1": "energy_export_t1",
    "1-0:2.8.2": "energy_export_t2",
    "1-0:1.7.0": "power_import",
    "1-0:2.7.0": "power_export",
    "1-0:16.7.0": "power",
    "1-0:36.7.0": "power_l1",
    "1-0:56.7.0": "power_l2",
    "1-0:76.7.0": "power_l3",
    "1-0:21.7.0": "power_import_l1",
    "1-0:41.7.0": "power_import_l2",
    "1-0:61.7.0": "power_import_l3",
    "1-0:22.7.0": "power_export_l1",
    "1-0:42.7.0": "power_export_l2",
    "1-0:62.7.0": "power_export_l3",
    "1-0:32.7.0": "voltage_l1",
    "1-0:52.7.0": "voltage_l2",
    "1-0:72.7.0": "voltage_l3",
    "1-0:31.7.0": "current_l1",
    "1-0:51.7.0": "current_l2",
    "1-0:71.7.0": "current_l3",
    "1-0:32.32.0": "voltage_sags_l1",
    "1-0:52.32.0": "voltage_sags_l2",
    "1-0:72.32.0": "voltage_sags_l3",
    "1-0:32.36.0": "voltage_swells_l1",
    "1-0:52.36.0": "voltage_swells_l2",
    "1-0:72.36.0": "voltage_swells_l3",
    "1-0:14.7.0": "frequency",
}
_OF_MBUS: Final[Mapping[str, str]] = {
    "24.1.0": "type",
    "24.2.1": "reading",
    "24.4.0": "valve",
    "96.1.0": "id",
}
"""Meters of gas, water or heat behind one of electricity, on channels from 1."""
_MBUS = re.compile(r"0-([1-9][0-9]?):(.+)")

COUNTS: Final = frozenset(
    {"power_failures", "long_power_failures"}
    | {f"voltage_{kind}_l{phase}" for kind in ("sags", "swells") for phase in (1, 2, 3)}
)
"""Numbers that have no unit; what else has none is a text."""


def name_of(code: str) -> str:
    """Return the quantity that a code `A-B:C.D.E` stands for."""
    behind = _MBUS.fullmatch(code)
    if behind is not None and behind[2] in _OF_MBUS:
        return f"mbus_{behind[1]}_{_OF_MBUS[behind[2]]}"
    return _NAMES.get(code, code)
