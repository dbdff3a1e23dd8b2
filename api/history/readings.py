"""Extracts the sensors' readings from the bridge's reports."""

from collections.abc import Iterator

from api.history.history import Reading
from api.history.rings import HOUR
from api.models.bridge import Device, Quantity
from api.status.observer import Overview

SENSORS = "sensors/"
_TIMELY_MS = 60_000
"""Largest difference between a reading's time and the gateway's time.

A reading that is further away is recorded at the time of the report.
"""


def name_of(device: str, quantity: str) -> str:
    """Return the name of the series for a quantity of a device."""
    return f"{SENSORS}{device}/{quantity}"


class Readings:
    """Detector of new readings. It compares each report of the bridge with the previous one."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}
        """Time of the latest reading of each series, as reported."""

    def new_in(self, overview: Overview) -> list[Reading]:
        """Return the readings in an overview that were not in the previous overview."""
        bridge, now_ms = overview.serial.status, overview.broker.time_ms
        if bridge is None:
            self._times = {}
            return []
        before, self._times = self._times, {}
        found: dict[str, list[Reading]] = {}
        for port in bridge.ports:
            for device in port.devices:
                for quantity in device.quantities:
                    name = name_of(device.device, quantity.name)
                    if name not in found:  # two ports may have devices of one name
                        found[name] = [*self._of(name, device, quantity, before.get(name), now_ms)]
        return [reading for each in found.values() for reading in each]

    def _of(
        self, name: str, device: Device, quantity: Quantity, before_ms: int | None, now_ms: int
    ) -> Iterator[Reading]:
        unit = quantity.unit or ""
        if quantity.steps:
            for step in quantity.steps:
                end_ms = step.start_ms + HOUR.step_ms
                if (before_ms is None or end_ms > before_ms) and step.start_ms <= now_ms:
                    recorded_ms = _recorded_time_of(step.start_ms, now_ms)
                    four = (step.low, step.mean, step.high, step.last)
                    yield Reading(name, unit, recorded_ms, step.count, *four)
            self._times[name] = quantity.steps[-1].start_ms + HOUR.step_ms
            return
        value = quantity.value
        time_ms = quantity.time_ms if quantity.time_ms is not None else device.last_ms
        if time_ms is None or not isinstance(value, int | float):
            return
        self._times[name] = time_ms
        if time_ms != before_ms:
            number = float(value)
            yield Reading(
                name, unit, _recorded_time_of(time_ms, now_ms), 1, number, number, number, number
            )


def _recorded_time_of(time_ms: int, now_ms: int) -> int:
    """Return the time to record for a reading.

    This is the reading's own time (`time_ms`) if it is within the last minute before `now_ms`.
    Otherwise, it is `now_ms`.
    """
    return time_ms if now_ms - _TIMELY_MS <= time_ms <= now_ms else now_ms
