"""The machine's wall clock, which starts in the past, jumps, and is right when it is synchronised.

Time on the `Timeline` is what really passes. The clock shows it with an offset, and the kernel
reports whether it trusts the clock. Now and then it trusts a clock that is off by seconds: by
so much an interval may be cut short.
"""

from collections.abc import Callable

from gateway.broker.core.gateway_time import ClockQuality

START_SECONDS = 1_000.0
START_MS = 1_700_000_000_000
YEARS_SECONDS = 3 * 365 * 86_400

RIGHT, STOPPED, BACK, PAST, AHEAD = "right", "stopped", "a minute back", "1970", "years ahead"
"""What a clock may show when the power is back: it went on and is trusted, or it begins where it
was, or a minute before that, in 1970, or years later, and is not trusted."""


class MachineClock:
    """The clock, over all lives of the broker."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._true_offset_ms = START_MS - int(START_SECONDS * 1000)
        self._offset_ms = self._true_offset_ms
        self.quality = ClockQuality.SYNCHRONISED
        self.always_right = True
        """It was right and trusted all the time."""
        self.lied_seconds = 0.0
        """By how much it has jumped, in all, while it was trusted."""

    def wall_ms(self) -> int:
        """Return milliseconds since 1970, as the clock has them."""
        return int(self._now() * 1000) + self._offset_ms

    def step(self, seconds: float, *, trusted: bool) -> None:
        """Let it jump; `trusted`: the kernel believes that it is right before and after."""
        self.always_right = False
        trusted = trusted and self.quality == ClockQuality.SYNCHRONISED
        if trusted:
            self.lied_seconds += abs(seconds)
        self.quality = ClockQuality.SYNCHRONISED if trusted else ClockQuality.UNSYNCHRONISED
        self._offset_ms += int(seconds * 1000)

    def step_to_1970(self) -> None:
        """Let it begin again, not trusted."""
        self.step(-self.wall_ms() // 1000 + 100, trusted=False)

    def synchronise(self) -> None:
        """A time server has answered."""
        if self.quality == ClockQuality.SYNCHRONISED:
            self.lied_seconds += abs(self._true_offset_ms - self._offset_ms) / 1000
        self._offset_ms = self._true_offset_ms
        self.quality = ClockQuality.SYNCHRONISED

    def lose_power(self, seconds: float, shows: str) -> None:
        """Be without power for some seconds, and show then what `shows` states."""
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
