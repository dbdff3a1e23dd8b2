"""Changes of a port's readings before they are published, as configured.

Numbers are scaled, and values that have not changed enough or come too soon are left out. Omitted
values take no number: a gap in `sequence` stays a sign of a loss. A rule names a quantity, or
one measurement of a quantity that has several (`gga/alt`).
"""

from collections import OrderedDict
from dataclasses import replace

from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.scaling import OutOfRange, scaled
from gateway.process.declarations.readings import QuantityRule, Readings

# Quantities of devices whose latest publication is known; beyond it the oldest is published again.
PUBLISHED_KEPT_MAX = 4096


class Rules:
    """The rules of one port, and what was published last of each quantity that has one."""

    def __init__(self, readings: Readings) -> None:
        self._rules = readings.rules
        self._is_pack = readings.payload == "senml"
        self._published: OrderedDict[tuple[str, str], tuple[list[Value], float]] = OrderedDict()

    def scaled(self, quantities: Quantities) -> tuple[Quantities, int]:
        """Return the quantities in their units, and how many values were out of range."""
        if not self._rules:
            return quantities, 0
        kept: Quantities = {}
        out_of_range = 0
        for name, measurements in quantities.items():
            kept[name] = []
            for measurement in measurements:
                rule = self._rules.get(measurement.name)
                try:
                    kept[name].append(measurement if rule is None else _scaled(measurement, rule))
                except OutOfRange:
                    out_of_range += 1
            if measurements and not kept[name]:
                del kept[name]
        return kept, out_of_range

    def due(self, device: str, quantities: Quantities, now_seconds: float) -> Quantities:
        """Return those that are to be published now, by a monotonic clock."""
        if not self._rules:
            return quantities
        found: Quantities = {}
        for name, measurements in quantities.items():
            if self._is_due(device, name, measurements, now_seconds):
                due = self._due_of(device, name, measurements, now_seconds)
                if due or not measurements:
                    found[name] = due
        return found

    def note_published(self, device: str, quantities: Quantities, now_seconds: float) -> None:
        """Record the measurements that were chosen for publication."""
        for name, measurements in quantities.items():
            for key, group in {name: measurements, **_parts_of(name, measurements)}.items():
                rule = self._rules.get(key)
                if rule is not None and rule.filters:
                    self._note(device, key, [each.value for each in group], now_seconds)

    def _note(self, device: str, key: str, values: list[Value], now_seconds: float) -> None:
        self._published.pop((device, key), None)
        if len(self._published) >= PUBLISHED_KEPT_MAX:
            self._published.popitem(last=False)
        self._published[device, key] = (values, now_seconds)

    def _due_of(
        self, device: str, name: str, measurements: list[Measurement], now_seconds: float
    ) -> list[Measurement]:
        """Apply the rules of single measurements of a quantity that has several.

        A SenML pack is whole: it is published where one of those that have such a rule is due. In
        other forms each measurement is a publication of its own, and is left out by itself.
        """
        parts = _parts_of(name, measurements)
        ruled = {key for key in parts if (rule := self._rules.get(key)) and rule.filters}
        due = {key for key in ruled if self._is_due(device, key, parts[key], now_seconds)}
        if self._is_pack:
            return measurements if due or not ruled else []
        return [each for each in measurements if each.name in due or each.name not in ruled]

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


def _parts_of(name: str, measurements: list[Measurement]) -> dict[str, list[Measurement]]:
    """Return the measurements of a quantity that have names of their own."""
    parts: dict[str, list[Measurement]] = {}
    for measurement in measurements:
        if measurement.name != name:
            parts.setdefault(measurement.name, []).append(measurement)
    return parts


def _scaled(measurement: Measurement, rule: QuantityRule) -> Measurement:
    value = measurement.value
    if not isinstance(value, bool | str | bytes):
        value = scaled(value, scale=rule.scale, offset=rule.offset)
    return replace(measurement, value=value, unit=rule.unit or measurement.unit)


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
