"""Limits the time that TLS handshakes take in each iteration of the event loop.

A signature takes milliseconds on a small machine. Reconnecting devices or an attacker can start
thousands of handshakes. All handshakes together can use up to `SLICE_SECONDS` per iteration. When
this time is used up, the remaining handshakes wait, in order of arrival, for the next iteration.
In the meantime, sockets and commits are handled.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final

SLICE_SECONDS: Final = 0.0005
"""Time for handshakes per iteration of the event loop. A step is never interrupted: RSA with 2,048
bits takes 1 ms on a PC and 10 ms on a Raspberry Pi 3, ECDSA a tenth of that."""


class HandshakeTurns:
    """Scheduler of TLS handshake steps. It postpones steps if they take too much time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()
        self._spent_seconds = 0.0
        self._scheduled = False

    def take(self, step: Callable[[], None]) -> bool:
        """Run a step of a TLS handshake, or postpone it if the time of this iteration is used up.

        Return True if the step has been run.
        """
        if self._waiting or self._spent_seconds >= SLICE_SECONDS:
            self._waiting.append(step)
            return False
        self._do(step)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._continue)
        return True

    def _continue(self) -> None:
        self._spent_seconds = 0.0
        while self._waiting and self._spent_seconds < SLICE_SECONDS:
            self._do(self._waiting.popleft())
        self._scheduled = bool(self._spent_seconds)
        if self._scheduled:
            self._loop.call_soon(self._continue)

    def _do(self, step: Callable[[], None]) -> None:
        # Not the loop's time, which uvloop updates only once per turn.
        began = perf_counter()
        step()
        self._spent_seconds += perf_counter() - began
