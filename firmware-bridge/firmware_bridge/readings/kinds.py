"""The kind of each quantity: number, text or boolean, declared or as it was first seen.

A quantity never changes its kind, because Home Assistant and other programs that store readings
keep the kind of the first value. The outbox stores the kinds for the next start of the bridge.
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from firmware_bridge.readings.measurement import Quantities, Value

Kind = Literal["number", "text", "boolean"]
KINDS: Final = get_args(Kind)

# A device has tens of quantities; a line of noise must not fill the memory with made-up names.
KINDS_KEPT_MAX: Final = 1024


class Kinds:
    """The kinds of one line's quantities. Declared kinds are fixed from the start."""

    def __init__(self, declared: Mapping[str, Kind] | None = None) -> None:
        self._kinds: dict[str, Kind] = dict(declared or {})
        self._new: dict[str, Kind] = {}

    def of(self, name: str) -> Kind | None:
        """Return the kind of a quantity; None: it has not been seen."""
        return self._kinds.get(name)

    def note(self, name: str, value: Value) -> None:
        """Remember the kind of a value that is published, where the quantity has none yet."""
        if name not in self._kinds and len(self._kinds) < KINDS_KEPT_MAX:
            self._kinds[name] = self._new[name] = kind_of(value)

    def remember(self, known: Mapping[str, Kind]) -> None:
        """Add kinds from before; a declared kind, or one that was seen since, is kept."""
        for name, kind in known.items():
            if len(self._kinds) < KINDS_KEPT_MAX:
                self._kinds.setdefault(name, kind)

    def take_new(self) -> Mapping[str, Kind]:
        """Return the kinds noted since the last call, by quantity."""
        new, self._new = self._new, {}
        return new

    def known(self) -> Mapping[str, Kind]:
        """Return the kinds by quantity."""
        return dict(self._kinds)

    def keep(self, quantities: Quantities) -> int:
        """Remove the values whose kind has changed; return how many."""
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
    """Return the kind of a value; bytes count as text."""
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str | bytes) else "number"
