"""What the configuration changes of a port's readings before they are published.

Numbers are scaled, and values that have not changed enough or come too soon are left out. What is
left out takes no number: a gap in `sequence` stays a sign of a loss.
"""

from collections import OrderedDict
from dataclasses import replace

from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.scaling import OutOfRange, scaled
from gateway.keys.readings import QuantityRule, Readings

# Quantities of devices whose latest publication is known; beyond it the oldest is published again.
PUBLISHED_KEPT_MAX = 4096


class Rules:
    """The rules of one port, and what was published last of each quantity that has one."""

    def __init__(self, readings: Readings) -> None:
        self._rules = readings.rules
        self._published: OrderedDict[tuple[str, str], tuple[list[Value], float]] = OrderedDict()

    def scaled(self, quantities: Quantities) -> tuple[Quantities, int]:
        """Return the quantities in their units, and how many were left out as out of range."""
        if not self._rules:
            return quantities, 0
        kept: Quantities = {}
        for name, measurements in quantities.items():
            rule = self._rules.get(name)
            try:
                kept[name] = measurements if rule is None else _scaled(measurements, rule)
            except OutOfRange:
                continue
        return kept, len(quantities) - len(kept)

    def due(self, device: str, quantities: Quantities, now_seconds: float) -> Quantities:
        """Return those that are to be published now, by a monotonic clock."""
        if not self._rules:
            return quantities
        return {
            name: measurements
            for name, measurements in quantities.items()
            if self._is_due(device, name, measurements, now_seconds)
        }

    def note_published(self, device: str, quantities: Quantities, now_seconds: float) -> None:
        """Note what was taken for publication."""
        for name, measurements in quantities.items():
            rule = self._rules.get(name)
            if rule is not None and rule.filters:
                self._published.pop((device, name), None)
                if len(self._published) >= PUBLISHED_KEPT_MAX:
                    self._published.popitem(last=False)
                values = [each.value for each in measurements]
                self._published[device, name] = (values, now_seconds)

    def _is_due(
        self, device: str, name: str, measurements: list[Measurement], now_seconds: float
    ) -> bool:
        rule = self._rules.get(name)
        published = self._published.get((device, name))
        if rule is None or published is None:
            return True
        values, at_seconds = published
        if now_seconds - at_seconds < rule.minimum_interval:
            return False
        if not rule.on_change and not rule.deadband:
            return True
        return len(values) != len(measurements) or any(
            _has_changed(before, each.value, rule.deadband)
            for before, each in zip(values, measurements, strict=True)
        )


def _scaled(measurements: list[Measurement], rule: QuantityRule) -> list[Measurement]:
    return [
        replace(
            each,
            value=each.value
            if isinstance(each.value, bool | str | bytes)
            else scaled(each.value, scale=rule.scale, offset=rule.offset),
            unit=each.unit if rule.unit is None else rule.unit,
        )
        for each in measurements
    ]


def _has_changed(before: Value, now: Value, deadband: float) -> bool:
    if _is_number(before) and _is_number(now) and deadband:
        assert isinstance(before, int | float), "it is a number"
        assert isinstance(now, int | float), "it is a number"
        return abs(now - before) >= deadband
    return (type(before) is not type(now) and not (_is_number(before) and _is_number(now))) or (
        before != now
    )


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
