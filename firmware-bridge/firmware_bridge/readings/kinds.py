"""Data types of quantities: number, text or boolean.

A quantity has the type that the configuration declares, or else the type of its first value. This
type never changes, because Home Assistant and other programs that store readings expect all values
of a quantity to have the same type. The outbox stores the types for the next start of the bridge.
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from firmware_bridge.readings.measurement import Quantities, Value

Kind = Literal["number", "text", "boolean"]
KINDS: Final = get_args(Kind)

# A device has tens of quantities. Noise on a line must not fill the memory with made-up names.
KINDS_KEPT_MAX: Final = 1024


class Kinds:
    """The data type of each quantity on one serial line: number, text or boolean.

    The types in `declared` come from the configuration and never change.
    """

    def __init__(self, declared: Mapping[str, Kind] | None = None) -> None:
        self._kinds: dict[str, Kind] = dict(declared or {})
        self._new: dict[str, Kind] = {}

    def of(self, name: str) -> Kind | None:
        """Return the data type of the quantity `name`, or None if the quantity is not known."""
        return self._kinds.get(name)

    def note(self, name: str, value: Value) -> None:
        """Record the data type of `value` for the quantity `name`, unless it has a type already."""
        if name not in self._kinds and len(self._kinds) < KINDS_KEPT_MAX:
            self._kinds[name] = self._new[name] = kind_of(value)

    def remember(self, known: Mapping[str, Kind]) -> None:
        """Add the data types that an earlier run of the bridge stored.

        Quantities that already have a data type are not changed.
        """
        for name, kind in known.items():
            if len(self._kinds) < KINDS_KEPT_MAX:
                self._kinds.setdefault(name, kind)

    def take_new(self) -> Mapping[str, Kind]:
        """Return the data types of quantities added since the last call, keyed by name."""
        new, self._new = self._new, {}
        return new

    def known(self) -> Mapping[str, Kind]:
        """Return the data types of all known quantities, keyed by name."""
        return dict(self._kinds)

    def keep(self, quantities: Quantities) -> int:
        """Remove values that do not have the data type of their quantity.

        For a quantity that is new, record the type of its first value. Return the number of removed
        values.
        """
        removed = 0
        for quantity, measurements in list(quantities.items()):
            kept = [each for each in measurements if self._is_kept(each.name, each.value)]
            removed += len(measurements) - len(kept)
            if kept:
                quantities[quantity] = kept
            else:
                del quantities[quantity]
        return removed

    def _is_kept(self, name: str, value: Value) -> bool:
        self.note(name, value)
        return self._kinds.get(name, kind_of(value)) == kind_of(value)


def kind_of(value: Value) -> Kind:
    """Return the data type of a value: number, text or boolean. Bytes count as text."""
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str | bytes) else "number"
