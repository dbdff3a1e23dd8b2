"""The machine's wall clock: it may be wrong or jump, and is right once it is synchronised.

Time on the `Timeline` is real time. The clock adds an offset, and the kernel reports whether it
trusts the clock. Sometimes the kernel trusts a clock that is off by seconds. An interval may then
be shorter by as much.
"""

from collections.abc import Callable

from gateway.broker.core.gateway_time import ClockQuality

START_SECONDS = 1_000.0
START_MS = 1_700_000_000_000
YEARS_SECONDS = 3 * 365 * 86_400

RIGHT, STOPPED, BACK, PAST, AHEAD = "right", "stopped", "a minute back", "1970", "years ahead"
"""States of a clock after a power cut.

A right clock is trusted. The others start where the clock was, a minute earlier, in 1970, or years
later, and are not trusted.
"""


class MachineClock:
    """The clock, across all runs of the broker."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._true_offset_ms = START_MS - int(START_SECONDS * 1000)
        self._offset_ms = self._true_offset_ms
        self.quality = ClockQuality.SYNCHRONISED
        self.always_right = True
        """True if the clock was always right and trusted."""
        self.lied_seconds = 0.0
        """The sum of the jumps while the clock was trusted, in seconds."""

    def wall_ms(self) -> int:
        """Return the milliseconds since 1970 that the clock shows."""
        return int(self._now() * 1000) + self._offset_ms

    def step(self, seconds: float, *, trusted: bool) -> None:
        """Make the clock jump. With `trusted`, the kernel trusts it before and after."""
        self.always_right = False
        trusted = trusted and self.quality == ClockQuality.SYNCHRONISED
        if trusted:
            self.lied_seconds += abs(seconds)
        self.quality = ClockQuality.SYNCHRONISED if trusted else ClockQuality.UNSYNCHRONISED
        self._offset_ms += int(seconds * 1000)

    def step_to_1970(self) -> None:
        """Restart the clock in 1970, not trusted."""
        self.step(-self.wall_ms() // 1000 + 100, trusted=False)

    def synchronise(self) -> None:
        """Set the clock to the real time, as after a time server's response."""
        if self.quality == ClockQuality.SYNCHRONISED:
            self.lied_seconds += abs(self._true_offset_ms - self._offset_ms) / 1000
        self._offset_ms = self._true_offset_ms
        self.quality = ClockQuality.SYNCHRONISED

    def lose_power(self, seconds: float, shows: str) -> None:
        """Simulate a time without power. `shows` is the state of the clock afterwards."""
        if shows == RIGHT:
            self.synchronise()
            return
        self.step(-seconds, trusted=False)
        if shows == BACK:
            self.step(-60, trusted=False)
        elif shows == AHEAD:
            self.step(YEARS_SECONDS, trusted=False)
        elif shows == PAST:
            self.step_to_1970()
            self.step(-seconds, trusted=False)
