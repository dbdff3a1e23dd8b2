"""One value as a sensor gave it, with the limits that every protocol keeps to."""

from dataclasses import dataclass

Value = float | int | str | bool | bytes

# Values of one pack of a board, or one answer of a device that is asked. Other protocols bound the
# bytes of a frame.
MEASUREMENTS_MAX = 64
# RFC 8428 section 4.5.3: smaller times count from now, larger ones from 1970.
ABSOLUTE_TIME_SECONDS_MIN = 2**28
# The end of the year 9999: later is no time that a calendar could show.
TIME_SECONDS_MAX = 253_402_300_799
# Anything larger is no measurement; it also keeps every integer exact in 64 bits.
INTEGER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value with its name (docs/formats/readings.md).

    `time_seconds` is RFC 8428's: below 2**28 it counts from the moment of arrival, otherwise from
    1970-01-01 UTC. None is the moment of arrival. `is_past`: an entry of a log of the device,
    which may be years old. `device_time_seconds` is the time that the device gave, where it is not
    used because its clock is wrong.
    """

    name: str
    value: Value
    unit: str | None = None
    time_seconds: float | None = None
    is_past: bool = False
    device_time_seconds: float | None = None

    @property
    def absolute_time_seconds(self) -> float | None:
        """When it was measured, where the sensor has a clock; None otherwise."""
        given = self.time_seconds
        return None if given is None or given < ABSOLUTE_TIME_SECONDS_MIN else float(given)


Quantities = dict[str, list[Measurement]]
"""The measurements of one frame by quantity: one payload each."""
