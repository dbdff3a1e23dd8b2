"""The two clocks: the monotonic clock is used for decisions, the wall clock only for records.

A Raspberry Pi has no battery-backed clock, so its wall clock can start in the past and be stepped
forward later. Steps are detected by comparing both clocks. The kernel reports whether the wall
clock is synchronised. A recorded time is never earlier than the last time that the previous run
recorded, unless a synchronised clock shows that the earlier record was wrong.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from functools import cache

from gateway.broker.core.gateway_time import ClockQuality

STEP_MS = 1_000
"""If the difference between the clocks changes by this much, the wall clock was stepped. Slewing
changes the difference far less."""

SET_MS = 50
"""If the difference between the clocks changes by more than this, a clock that was synchronised a
moment ago counts as set. Slewing affects both clocks alike, and reading them takes less time."""

CATCH_UP_MS = 3_600_000
"""If the synchronised time is earlier than the last synchronised time of the previous run by at
most this, the last time is recorded until the clock has caught up. If the difference is larger,
one of the two was set from a wrong server, and the current time is recorded."""

NS_PER_MS = 1_000_000


_TIMEX_BYTES = 208
_TIME_ERROR = 5  # adjtimex(2): the clock is not synchronised


def quality() -> ClockQuality:
    """Return the quality of the wall clock: synchronised, unsynchronised or unknown."""
    adjtimex = _adjtimex()
    state = -1 if adjtimex is None else adjtimex()
    if state < 0:
        return ClockQuality.UNKNOWN
    return ClockQuality.UNSYNCHRONISED if state == _TIME_ERROR else ClockQuality.SYNCHRONISED


@cache
def _adjtimex() -> Callable[[], int] | None:
    """Return a function that calls adjtimex(2) to read the clock's state without changing it.

    The result is None if the operating system is not Linux.
    """
    if not sys.platform.startswith("linux"):
        return None
    function = ctypes.CDLL(None).adjtimex
    # Larger than struct timex on every Linux.
    buffer = ctypes.create_string_buffer(_TIMEX_BYTES * 2)

    def read() -> int:
        ctypes.memset(buffer, 0, ctypes.sizeof(ctypes.c_uint))
        return int(function(buffer))

    return read


class WallClock:
    """The wall clock and its quality. Detects when the clock is stepped.

    Times are in milliseconds since 1970-01-01 UTC. `floor_ms` is the last time that the previous
    run recorded, and `floor_clock` is the clock's quality at that time.
    """

    def __init__(self, floor_ms: int = 0, floor_clock: ClockQuality = ClockQuality.UNKNOWN) -> None:
        self._floor_ms = floor_ms
        self._floor_clock = floor_clock
        self._started_ms = _monotonic_ms()
        self._stepped_from_ms = _wall_ms() - self._started_ms
        self.quality = ClockQuality.UNSYNCHRONISED
        """The quality that the kernel reported at the last `query_kernel`."""
        self._offset_ms = 0
        """Wall time minus monotonic time at the last `query_kernel`."""
        self.query_kernel()

    def query_kernel(self) -> ClockQuality:
        """Query the kernel for the clock's quality, store the quality and return it.

        The system call can be slow. Call this once a second, not each time the clock is read.
        """
        found = quality()
        self._offset_ms = _wall_ms() - _monotonic_ms()
        if found is ClockQuality.SYNCHRONISED and quality() is not ClockQuality.SYNCHRONISED:
            found = ClockQuality.UNSYNCHRONISED  # the clock was set between the two calls
        self.quality = found
        return found

    def shown(self) -> tuple[int, ClockQuality]:
        """Return the current wall time in milliseconds since 1970, and its quality.

        Unlike the result of `read`, this time is not corrected, so it is the same in all processes.
        """
        # Both clocks without a call in between, because this runs for each batch.
        time_ms, found = time.time_ns() // NS_PER_MS, self.quality
        if found is ClockQuality.SYNCHRONISED:
            offset_ms = time_ms - time.monotonic_ns() // NS_PER_MS
            if abs(offset_ms - self._offset_ms) > SET_MS:
                # The clock was set, which the last report of the kernel does not include.
                found = ClockQuality.UNSYNCHRONISED
        return time_ms, found

    def read(self) -> tuple[int, ClockQuality]:
        """Return the time to write into records, and the clock's quality.

        Recorded time does not go backwards across a restart, unless a synchronised clock shows that
        the earlier record was wrong.
        """
        time_ms, found = self.shown()
        if found is not ClockQuality.SYNCHRONISED:
            floor_ms = self._floor_ms + time.monotonic_ns() // NS_PER_MS - self._started_ms
            return max(time_ms, floor_ms), found
        lag_ms = self._floor_ms - time_ms
        if self._floor_clock is ClockQuality.SYNCHRONISED and 0 < lag_ms <= CATCH_UP_MS:
            return self._floor_ms, found
        return time_ms, found

    @staticmethod
    def time_ms() -> int:
        """Return the current wall time in milliseconds since 1970-01-01 UTC."""
        return _wall_ms()

    def step_ms(self) -> int:
        """Return the milliseconds by which the clock was stepped since the last call, or 0."""
        offset = _wall_ms() - _monotonic_ms()
        step = offset - self._stepped_from_ms
        self._stepped_from_ms = offset
        return step if abs(step) >= STEP_MS else 0


def _wall_ms() -> int:
    return time.time_ns() // NS_PER_MS


def _monotonic_ms() -> int:
    return time.monotonic_ns() // NS_PER_MS
