"""When the core's timers run: after everything that has arrived was read.

A process that stood still (SIGSTOP, a suspended machine, a card that does not answer) finds timers
due and sockets full at the same time. What the sockets hold is read first, so that a client whose
PINGREQ was waiting is not taken for silent. After a longer standstill each client also gets its
time again: what it sent meanwhile may be on its way, because TCP repeats it ever more rarely.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from gateway.core.broker import Broker

logger = logging.getLogger(__name__)

ROUNDS: Final = 2
"""Turns of the loop between a timer that is due and what it does. In the first one the loop may
have looked at its sockets before the timer was due; in the second one it looks again."""

ROUNDS_WHEN_LATE: Final = 8
"""The same where the loop was busy or stopped when the timer was due: a connection is accepted,
read, and what it sent is handled in turns of their own."""

LATE_SECONDS: Final = 0.1
"""A timer that comes up so much later is late."""

STANDSTILL_SECONDS: Final = 2.5
"""Without a look at the clock, which the broker takes once a second: longer than a garbage
collection or a checkpoint's slice on a slow card."""


class Alarm:
    """Wakes the core when its next timer is due."""

    def __init__(self, broker: Broker, schedule: Callable[[], None]) -> None:
        """`schedule` is called when there may be something to send or to commit."""
        self._broker = broker
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._due = float("inf")
        self._looked_at = self._loop.time()

    def set(self, due: float | None) -> None:
        """Wake the core at `due`, unless it is woken earlier."""
        if due is None or due >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._ring)

    def look(self) -> None:
        """Look at the clock, at least once a second, and note a standstill."""
        now = self._loop.time()
        seconds = now - self._looked_at
        self._looked_at = now
        if seconds > STANDSTILL_SECONDS:
            logger.warning(
                "the broker stood still for %.1f s: clients get the time of their keep-alive again",
                seconds,
            )
            self._broker.timeouts.begin_again(now)

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
        """Wake the core no more."""
        if self._timer is not None:
            self._timer.cancel()
