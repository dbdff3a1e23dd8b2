"""Scheduling of the core's timers, after all received data was read.

A process that was paused (SIGSTOP, a suspended machine, a card that does not respond) finds due
timers and full sockets at the same time. The sockets are read first, so that a client whose PINGREQ
has arrived is not considered silent. After a longer pause each client also gets its full timeout
again: its packets may still be in transit, because TCP retransmits at growing intervals.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from gateway.broker.core.broker import Broker

logger = logging.getLogger(__name__)

ROUNDS: Final = 2
"""Turns of the event loop between a due timer and its action. In the first turn the loop may have
checked its sockets before the timer was due; in the second it checks again."""

ROUNDS_WHEN_LATE: Final = 8
"""The same if the loop was busy or stopped when the timer was due: accepting a connection, reading
it and processing its data take a turn each."""

LATE_SECONDS: Final = 0.1
"""A timer that fires this much later is late."""

STANDSTILL_SECONDS: Final = 2.5
"""Longest normal time between two checks of the clock, which happen once a second: longer than a
garbage collection or a checkpoint's slice on a slow card."""


class Alarm:
    """Wakes the core when its next timer is due."""

    def __init__(self, broker: Broker, schedule: Callable[[], None]) -> None:
        """Set the dependencies.

        `schedule` is called when there may be something to send or commit.
        """
        self._broker = broker
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._due = float("inf")
        self._looked_at = self._loop.time()

    def set(self, due: float | None) -> None:
        """Wake the core at `due`, unless it will be woken earlier."""
        if due is None or due >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._ring)

    def look(self) -> None:
        """Check the clock, at least once a second, and detect pauses of the process."""
        now = self._loop.time()
        seconds = now - self._looked_at
        self._looked_at = now
        if seconds > STANDSTILL_SECONDS:
            logger.warning(
                "the broker stood still for %.1f s: clients get the time of their keep-alive again",
                seconds,
            )
            self._broker.restart_timeouts(now)

    def _ring(self) -> None:
        is_late = self._loop.time() - self._due > LATE_SECONDS
        self._wait(ROUNDS_WHEN_LATE if is_late else ROUNDS)

    def _wait(self, rounds: int) -> None:
        if rounds:
            self._timer = self._loop.call_soon(self._wait, rounds - 1)
            return
        self._timer = None
        self._due = float("inf")
        self.look()
        self._broker.wake(self._loop.time())
        self._schedule()

    def stop(self) -> None:
        """Stop waking the core."""
        if self._timer is not None:
            self._timer.cancel()
