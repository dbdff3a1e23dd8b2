"""Records which values and units each device has sent, to describe the devices to other programs.

The number of devices and values is limited, because a faulty line could send new names endlessly.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.readings.kinds import Kind, kind_of
from firmware_bridge.readings.measurement import Quantities

logger = logging.getLogger(__name__)

DEVICES_DESCRIBED_MAX: Final = 256
"""Maximum number of devices. The broker stores a retained message for each."""
QUANTITIES_DESCRIBED_MAX: Final = 128
"""Maximum number of values per device. The description stays far below a broker's usual packet
limit."""

FACT_CHARACTERS_MAX: Final = 64
"""Maximum length of a string that describes a device. Longer strings are not names or numbers."""
_FACTS: Final = frozenset(
    {"manufacturer", "model", "serial_number", "meter_id", "meter_number", "server_id", "version"}
)


@dataclass(frozen=True, slots=True)
class SeenValue:
    """Record of one named value of a device: its quantity, its data type and its unit.

    Several values can belong to the same quantity. `is_gone` is True if the value was removed from
    the configuration and has not been sent since.
    """

    quantity: str
    kind: Kind
    unit: str | None
    is_gone: bool = False


@dataclass(slots=True)
class SeenDevice:
    """A device on a port, and its values keyed by name."""

    port: str
    values: dict[str, SeenValue] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    """Strings that describe the device: its manufacturer, its number, and the types of meters it
    reads."""


class Seen:
    """The values that devices have sent in this run or an earlier run of the bridge.

    The data type and unit of a value are recorded when it is first sent after the start of the
    bridge. After that, the data type can only change from text to number, and a missing unit can be
    added. A sensor that alternates between two data types therefore does not cause endless changes.
    """

    def __init__(self, remembered: Mapping[str, SeenDevice]) -> None:
        self.devices: dict[str, SeenDevice] = dict(remembered)
        self._noted: set[tuple[str, str]] = set()
        self._noted_facts: set[tuple[str, str]] = set()
        self._is_limit_logged = False
        self.changes = 0
        """Number of changes so far. Two equal numbers mean that nothing changed in between."""

    def keep(self, devices: Mapping[str, SeenDevice]) -> None:
        """Forget all devices that are not in `devices`."""
        self._noted = {each for each in self._noted if each[0] in devices}
        self._noted_facts = {each for each in self._noted_facts if each[0] in devices}
        self.devices = dict(devices)
        self.changes += 1

    def note(self, port: str, device: str, quantities: Quantities) -> None:
        """Record the values of a frame. Bytes are skipped, because no program displays them.

        A device belongs to the port on which it was first seen.
        """
        known = self.devices.get(device)
        if known is None:
            if len(self.devices) >= DEVICES_DESCRIBED_MAX:
                self._log_limit(f"device {device}", f"{DEVICES_DESCRIBED_MAX} devices")
                return
            known = self.devices[device] = SeenDevice(port)
        if known.port != port:
            return
        for quantity, measurements in quantities.items():
            for each in measurements:
                if not isinstance(each.value, bytes):
                    value = SeenValue(quantity, kind_of(each.value), each.unit)
                    self._note_value(device, known, each.name, value)
                if isinstance(each.value, str) and is_fact(each.name):
                    self._note_fact(device, known, each.name, each.value)

    def _note_fact(self, device: str, known: SeenDevice, name: str, text: str) -> None:
        """Record a text that describes a device, if it is the first one after the bridge's start.

        A meter may have been replaced since the last start. Later texts are not recorded, because a
        text that changes often would cause endless updates.
        """
        if (device, name) in self._noted_facts or not 0 < len(text) <= FACT_CHARACTERS_MAX:
            return
        self._noted_facts.add((device, name))
        if known.facts.get(name) != text:
            known.facts[name] = text
            self.changes += 1

    def _note_value(self, device: str, known: SeenDevice, name: str, value: SeenValue) -> None:
        before = known.values.get(name)
        if before == value:
            self._noted.add((device, name))
            return
        if before is None:
            if len(known.values) >= QUANTITIES_DESCRIBED_MAX and not _forget_one_gone(known):
                limit = f"{QUANTITIES_DESCRIBED_MAX} values of a device"
                self._log_limit(f"{device}/{name}", limit)
                return
        elif (device, name) in self._noted:
            is_better = before.kind == "text" and value.kind == "number"
            kind = value.kind if is_better else before.kind
            value = SeenValue(before.quantity, kind, before.unit or value.unit)
            if value == before:
                return
        self._noted.add((device, name))
        known.values[name] = value
        self.changes += 1

    def _log_limit(self, what: str, limit: str) -> None:
        if not self._is_limit_logged:
            logger.warning(
                "%.160s is not described for Home Assistant: the limit is %s", what, limit
            )
            self._is_limit_logged = True


def is_fact(name: str) -> bool:
    """Return True if a text with this name describes the device, for example `manufacturer`."""
    return name in _FACTS or (name.startswith("mbus_") and name.endswith("_type"))


def _forget_one_gone(device: SeenDevice) -> bool:
    """Make room for a new value of a device, by forgetting one that is no longer configured.

    Return False if the device has no such value.
    """
    gone = next((name for name, value in device.values.items() if value.is_gone), None)
    if gone is not None:
        del device.values[gone]
    return gone is not None
