"""Checks times from devices whose clocks might be wrong, for example after a power failure.

Times are compared with the gateway's clock. If a reading has an implausible time, the time of its
arrival replaces it, and the device's own time is published as a separate value. If the gateway's
clock has not been set, all times are accepted.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from firmware_bridge.readings.measurement import Measurement, Quantities

DEVICE_TIME: Final = "device_time"
"""Name of the quantity for an implausible time that a device reported."""

METER_TIME: Final = "meter_time"
"""Name of the quantity that contains the time of a meter's telegram."""
_DAY: Final = 86400.0
_HOUR: Final = 3600.0
ZONE_TOLERANCE_SECONDS: Final = 120.0
"""Largest deviation from whole hours, in seconds, at which a wrong time zone is assumed."""
_ZONE_HOURS_MAX: Final = 12
# A device that was offline for months may send old readings. No reading is from the future, but the
# clock of a gateway that was switched off for weeks may be late until it is set.
LAG_SECONDS_MAX: Final = 366 * _DAY
AHEAD_SECONDS_MAX: Final = 31 * _DAY
EARLIEST_LOGGED: Final = datetime(2010, 1, 1, tzinfo=UTC).timestamp()
"""Earliest plausible time in a meter's log, which may cover years. A reset clock shows earlier
dates."""
_GATEWAY_IS_SET: Final = datetime(2025, 1, 1, tzinfo=UTC).timestamp()


def checked_times(
    quantities: Quantities, arrival_seconds: float
) -> tuple[Quantities, float | None]:
    """Replace implausible times of quantities with the time of arrival.

    Return the checked quantities, and the latest time that was replaced, or None. If a time was
    replaced, the quantities also include this time as `device_time`, unless the device itself sends
    a quantity with this name. If the gateway's own clock is not set, no times are replaced.
    """
    if arrival_seconds < _GATEWAY_IS_SET:
        return quantities, None
    wrong = [
        given
        for measurements in quantities.values()
        for each in measurements
        if (given := each.absolute_time_seconds) is not None
        and _is_wrong(each, given, arrival_seconds)
    ]
    if not wrong:
        return quantities, None
    latest = max(wrong)
    kept = {
        name: [_with_time_of_arrival(each, arrival_seconds) for each in measurements]
        for name, measurements in quantities.items()
    }
    kept.setdefault(DEVICE_TIME, [Measurement(DEVICE_TIME, iso_of(latest))])
    return kept, latest


def hours_off(quantities: Quantities, arrival_seconds: float) -> int:
    """Return the difference between a meter's clock and the gateway's clock, in whole hours.

    The result is positive if the meter's clock is ahead, and negative if it is behind. A result
    other than 0 suggests that the configured time zone is wrong. Return 0 if the difference is
    unknown, is not close to a whole number of hours, or is too large for a wrong time zone.
    """
    found = quantities.get(METER_TIME, [])
    given = found[0].absolute_time_seconds if found else None
    if given is None or arrival_seconds < _GATEWAY_IS_SET:
        return 0
    hours = round((given - arrival_seconds) / _HOUR)
    is_whole = abs(given - arrival_seconds - hours * _HOUR) <= ZONE_TOLERANCE_SECONDS
    return hours if is_whole and abs(hours) <= _ZONE_HOURS_MAX else 0


def iso_of(seconds: float) -> str:
    """Format a time in seconds since 1970 as UTC, for example `2000-01-01T00:00:00Z`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_wrong(measurement: Measurement, given: float, arrival_seconds: float) -> bool:
    earliest = arrival_seconds - LAG_SECONDS_MAX
    if measurement.is_past:
        earliest = EARLIEST_LOGGED
    return not earliest <= given <= arrival_seconds + AHEAD_SECONDS_MAX


def _with_time_of_arrival(measurement: Measurement, arrival_seconds: float) -> Measurement:
    given = measurement.absolute_time_seconds
    if given is None or not _is_wrong(measurement, given, arrival_seconds):
        return measurement
    return replace(measurement, time_seconds=None, device_time_seconds=given)
