"""One value from a sensor, and the limits that apply to all protocols."""

from dataclasses import dataclass

Value = float | int | str | bool | bytes

# Maximum number of values in one pack from a board, or in one response of a polled device. Other
# protocols limit the bytes of a frame.
MEASUREMENTS_MAX = 64
# RFC 8428 section 4.5.3: smaller times are relative to now, larger ones count from 1970.
ABSOLUTE_TIME_SECONDS_MIN = 2**28
# The end of the year 9999. Calendars of programs cannot show later times.
TIME_SECONDS_MAX = 253_402_300_799
# Larger numbers are not measurements. The limit also keeps every integer exact in 64 bits.
INTEGER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value with its name (docs/formats/readings.md).

    `time_seconds` is defined as in RFC 8428: a time below 2**28 is relative to the time of
    arrival, and a larger time is in seconds since 1970-01-01 UTC. None means the time of arrival.
    `is_past` is True if the value may be years old: it comes from the device's log, is a maximum,
    or belongs to an earlier billing period.
    `device_time_seconds` is the time that the device reported, if its clock is wrong.
    """

    name: str
    value: Value
    unit: str | None = None
    time_seconds: float | None = None
    is_past: bool = False
    device_time_seconds: float | None = None

    @property
    def absolute_time_seconds(self) -> float | None:
        """The time of the measurement in seconds since 1970, or None if the sensor sent no date."""
        given = self.time_seconds
        return None if given is None or given < ABSOLUTE_TIME_SECONDS_MIN else float(given)


Quantities = dict[str, list[Measurement]]
"""The measurements of one frame, keyed by quantity. Each quantity becomes one payload in SenML."""
