"""The two clocks: monotonic time decides, wall time is only written down.

A Raspberry Pi has no battery for its clock: wall time may start in the past and jump. A jump is
noticed by comparing both clocks, and the kernel says whether wall time is disciplined at all.
"""

import ctypes
import sys
import time

from gateway.core.facts import CLOCKS

STEP_MS = 1_000
"""A difference between the clocks from which we speak of a step: far above what slewing does."""

_TIMEX_BYTES = 208
_TIME_ERROR = 5  # adjtimex(2): the clock is not synchronised


def quality() -> int:
    """Return the index in CLOCKS that says whether the kernel considers its clock synchronised."""
    if not sys.platform.startswith("linux"):
        return CLOCKS.index("unknown")
    # modes = 0 only reads; the buffer is larger than struct timex on every Linux.
    state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES * 2))
    if state < 0:
        return CLOCKS.index("unknown")
    return CLOCKS.index("unsynchronised" if state == _TIME_ERROR else "synchronised")


class WallClock:
    """Wall time in milliseconds, and the steps it makes."""

    def __init__(self) -> None:
        self.started_ms = self.time_ms()
        self._offset_ms = self._offset()

    @staticmethod
    def time_ms() -> int:
        """Return milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    def _offset(self) -> int:
        return self.time_ms() - time.monotonic_ns() // 1_000_000

    def step_ms(self) -> int:
        """Return by how much wall time jumped since the last call, 0 if it did not."""
        offset = self._offset()
        step = offset - self._offset_ms
        self._offset_ms = offset
        return step if abs(step) >= STEP_MS else 0
