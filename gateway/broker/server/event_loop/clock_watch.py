"""Monitors the wall clock, and reports when the clock is stepped or its quality changes."""

import logging

from gateway.broker.core.broker import Broker
from gateway.broker.core.records.kinds import Observation
from gateway.broker.server.host.clock import WallClock

logger = logging.getLogger(__name__)

CLOCK_READ_SECONDS = 3_600.0
"""Longest time between two records of the time. A power cut loses the time since the last record.
If the clock is never synchronised, deadlines are later by that amount."""


class ClockWatch:
    """Monitor that reports when the wall clock is stepped or its quality changes."""

    def __init__(self, wall_clock: WallClock, broker: Broker) -> None:
        self._wall_clock = wall_clock
        self._broker = broker
        self._quality_logged = wall_clock.quality

    def check_clock(self, idle_seconds: float) -> None:
        """Check whether the wall clock was stepped or its quality changed. Called once a second.

        `idle_seconds` is the time since the last batch of records. Each batch records the wall
        time. If there was no batch for a while, this method records the wall time.
        """
        quality = self._wall_clock.query_kernel()
        step_ms = self._wall_clock.step_ms()
        if step_ms:
            logger.warning(
                "the clock stepped by %.3f s (%s); deadlines do not change",
                step_ms / 1000,
                quality.word,
            )
            self._broker.observe(None, Observation.CLOCK_STEPPED, "", str(step_ms))
        if quality != self._quality_logged:
            logger.info("the clock is %s", quality.word)
        if quality != self._quality_logged or idle_seconds >= CLOCK_READ_SECONDS:
            self._broker.observe(None, Observation.CLOCK_READ, "", quality.word)
        self._quality_logged = quality
