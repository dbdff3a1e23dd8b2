"""Configured rules that scale and filter a port's readings before they are published.

A rule can scale a number. It can also omit values that have not changed enough or that arrive too
soon. Omitted values do not use up sequence numbers, so a gap in `sequence` still means a loss. A
rule applies to a quantity, or to one measurement of a quantity (`gga/alt`).
"""

from collections import OrderedDict
from dataclasses import replace

from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.scaling import OutOfRange, scaled
from gateway.process.declarations.readings import QuantityRule, Readings

# Maximum number of remembered publications, one per quantity of a device. If there are more, the
# oldest is forgotten and its quantity is published again.
PUBLISHED_KEPT_MAX = 4096


class Rules:
    """The rules of one port, and the latest published values of each quantity that has a rule."""

    def __init__(self, readings: Readings) -> None:
        self._rules = readings.rules
        self._is_pack = readings.payload == "senml"
        self._published: OrderedDict[tuple[str, str], tuple[list[Value], float]] = OrderedDict()

    def scaled(self, quantities: Quantities) -> tuple[Quantities, int]:
        """Convert the quantities to their configured units.

        Return the converted quantities, and the number of values that were out of range and
        omitted.
        """
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
        """Return the quantities that must be published now according to the rules.

        `now_seconds` is from a monotonic clock. A quantity without a rule is always published.
        """
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
        """Record that these quantities were published at `now_seconds`.

        `due` compares the next values with the recorded values.
        """
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
        """Return the measurements of a quantity that must be published now.

        The rules for single measurements are applied. A SenML pack is published as a whole if at
        least one measurement with a rule must be published. In other formats, each measurement is
        published or omitted separately.
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
    """Group the measurements of a quantity by their names.

    Leave out measurements that have the same name as the quantity, because the rule for the whole
    quantity applies to them.
    """
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
