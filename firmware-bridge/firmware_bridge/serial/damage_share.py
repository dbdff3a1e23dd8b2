"""Measures the share of damaged frames among a port's recent frames, and warns if it is high.

Receiving a frame costs no extra time, because the totals of good frames and of damaged frames are
only sampled when the port's status is reported::

    samples   (time, frames, damaged), at most one every SAMPLE_SECONDS, kept for WINDOW_SECONDS_MAX
    window    the latest WINDOW_SECONDS, or longer until it contains FRAMES_MIN frames
"""

import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

logger = logging.getLogger(__name__)

SHARE_BEGINS: Final = 0.10
"""Share of damaged frames that causes a warning. A sound line loses far less than 1 %."""
SHARE_ENDS: Final = 0.05
"""The warning is cleared below this share. The gap to `SHARE_BEGINS` prevents repeated warnings."""
DAMAGED_MIN: Final = 5
"""Minimum number of damaged frames for a warning. Plugging in a sending device damages a few."""
FRAMES_MIN: Final = 20
"""Minimum number of frames in a window, damaged or not. A share of fewer frames means little."""
WINDOW_SECONDS: Final = 300.0
"""Length of the window if a device sends often. Faults are shown and cleared within minutes."""
WINDOW_SECONDS_MAX: Final = 3600.0
"""Longest window, for sensors that send once a minute. Samples are kept for the same time."""
SAMPLE_SECONDS: Final = 15.0
"""Time between two samples. At most 240 samples are kept for each port."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    frames: int
    damaged: int


class DamageShare:
    """The share of damaged frames on one port. A high share causes a warning.

    `share` is the fraction of damaged frames, or None if there were no frames. It is measured over
    the last `seconds` seconds. `warns` becomes True when the share reaches `SHARE_BEGINS`, and
    False when the share falls below `SHARE_ENDS`.
    """

    def __init__(self, port: str) -> None:
        self._port = port
        self._samples = deque([_Sample(time.monotonic(), 0, 0)])
        self.share: float | None = None
        self.seconds = 0.0
        self.warns = False

    def update(self, *, frames: int, damaged: int) -> None:
        """Update the share of damaged frames.

        The arguments `frames` and `damaged` are the total numbers of good frames and of damaged
        frames.
        """
        now = _Sample(time.monotonic(), frames, damaged)
        while len(self._samples) > 1 and now.at - self._samples[1].at >= WINDOW_SECONDS_MAX:
            self._samples.popleft()
        before = self._window_before(now)
        lost = now.damaged - before.damaged
        count = now.frames - before.frames + lost
        self.share = lost / count if count else None
        self.seconds = now.at - before.at
        if now.at - self._samples[-1].at >= SAMPLE_SECONDS:
            self._samples.append(now)
        self._judge(lost, count)

    def as_json(self) -> dict[str, object]:
        """Return the share of damaged frames, its window and the warning, for the port's status."""
        return {
            "damaged_share": None if self.share is None else round(self.share, 4),
            "damaged_share_seconds": round(self.seconds),
            "damage_warning": self.warns,
        }

    def _window_before(self, now: _Sample) -> _Sample:
        """Return the sample with which the window begins. The window ends with the sample `now`."""
        for each in reversed(self._samples):
            count = now.frames - each.frames + now.damaged - each.damaged
            if now.at - each.at >= WINDOW_SECONDS and count >= FRAMES_MIN:
                return each
        return self._samples[0]

    def _judge(self, lost: int, count: int) -> None:
        share = self.share or 0.0
        if not self.warns and lost >= DAMAGED_MIN and share >= SHARE_BEGINS:
            self.warns = True
            logger.warning(
                "serial port %s: %.0f %% of the latest frames were damaged (%d of %d); check "
                "sensor, cable and line settings",
                self._port,
                100 * share,
                lost,
                count,
            )
        elif self.warns and share < SHARE_ENDS:
            self.warns = False
            logger.info(
                "serial port %s: fewer than %.0f %% of the frames are damaged again",
                self._port,
                100 * SHARE_ENDS,
            )
