"""Runs the broker core's timers. Data that has arrived is processed before a timer fires.

When a process continues after a pause (SIGSTOP, a suspended machine, a card that does not respond),
timers may be due and data may have arrived. The data is read first, so that a client whose PINGREQ
has arrived is not considered silent. After a longer pause, the timeout of each client also starts
again. The client's packets may still be in transit, because TCP retransmits at growing intervals.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from gateway.broker.core.broker import Broker

logger = logging.getLogger(__name__)

ROUNDS: Final = 2
"""Iterations of the asyncio loop between the time when a timer is due and its action. In the first
iteration, the loop may have checked its sockets before the timer was due. In the second, it checks
them again."""

ROUNDS_WHEN_LATE: Final = 8
"""Iterations of the asyncio loop before the action of a timer that fires late, because the loop was
busy or stopped. Accepting a connection, reading from it and processing its data take one
iteration each."""

LATE_SECONDS: Final = 0.1
"""A timer counts as late if it fires this long after it was due."""

STANDSTILL_SECONDS: Final = 2.5
"""Longest normal time between two checks of the clock, which happen once a second. A garbage
collection or a step of a checkpoint on a slow card takes less time."""


class Alarm:
    """Timer of the broker core. It wakes the core when the core's next timeout is due."""

    def __init__(self, broker: Broker, schedule: Callable[[], None]) -> None:
        """Set the broker core and the callback.

        `schedule` is called when there may be something to send or to commit.
        """
        self._broker = broker
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._due = float("inf")
        self._checked_at = self._loop.time()

    def set(self, due: float | None) -> None:
        """Set the time at which the core is woken, unless an earlier time is already set.

        `due` is monotonic time in seconds. If `due` is None, nothing changes.
        """
        if due is None or due >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._ring)

    def check(self) -> None:
        """Check the clock to detect whether the process was paused. Called at least once a second.

        After a pause, the timeouts of all clients start again.
        """
        now = self._loop.time()
        seconds = now - self._checked_at
        self._checked_at = now
        if seconds > STANDSTILL_SECONDS:
            logger.warning(
                "the broker did not run for %.1f s: keep-alive times of clients start again",
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
        self.check()
        self._broker.wake(self._loop.time())
        self._schedule()

    def stop(self) -> None:
        """Cancel the timer that would wake the core."""
        if self._timer is not None:
            self._timer.cancel()
