"""The share of a port's frames that were damaged lately: a warning begins and ends once.

The totals are sampled where the status is made, so that a frame costs nothing::

    samples   (at, frames, damaged) ... each SAMPLE_SECONDS, for WINDOW_SECONDS_MAX
    window    the latest WINDOW_SECONDS; longer, until it has FRAMES_MIN, for a slow sensor
"""

import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

logger = logging.getLogger(__name__)

SHARE_BEGINS: Final = 0.10
"""Damaged frames of all from which there is a warning: a sound line loses far less than 1 %."""
SHARE_ENDS: Final = 0.05
"""Below this the warning ends: a share that varies around the other one warns once."""
DAMAGED_MIN: Final = 5
"""Damaged frames in the window: a port that was plugged in while it was sending is no fault."""
FRAMES_MIN: Final = 20
"""Frames, damaged or not, that a window should have: a share of fewer means little."""
WINDOW_SECONDS: Final = 300.0
"""The window of a port that sends often: a fault shows within minutes, and goes as fast."""
WINDOW_SECONDS_MAX: Final = 3600.0
"""The longest window, for sensors that send each minute; also how long samples are kept."""
SAMPLE_SECONDS: Final = 15.0
"""Between two samples: 240 of them are kept of a port."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    frames: int
    damaged: int


class DamageShare:
    """`share` is damaged frames of all in the latest `seconds`; None: there was none.

    `warns`: it is, or was a moment ago, too large.
    """

    def __init__(self, port: str) -> None:
        self._port = port
        self._samples = deque([_Sample(time.monotonic(), 0, 0)])
        self.share: float | None = None
        self.seconds = 0.0
        self.warns = False

    def update(self, *, frames: int, damaged: int) -> None:
        """Take the totals since the start: frames that were read, and what was damaged."""
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
        """Return its part of the status of a port."""
        return {
            "damaged_share": None if self.share is None else round(self.share, 4),
            "damaged_share_seconds": round(self.seconds),
            "damage_warning": self.warns,
        }

    def _window_before(self, now: _Sample) -> _Sample:
        """Return the sample with which the window begins."""
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
