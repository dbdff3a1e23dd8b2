"""Limiting of TLS handshakes to slices of the event loop.

A signature takes milliseconds on a small machine, and a fleet that reconnects, or an attacker, may
start thousands of handshakes. In each turn of the event loop all handshakes share `SLICE_SECONDS`.
The rest wait for the next turn in order of arrival, while sockets and commits are served in
between.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final

SLICE_SECONDS: Final = 0.0005
"""Time of handshakes per turn of the loop. A step is never interrupted: RSA of 2,048 bits takes 1
ms here, 10 on a Raspberry Pi 3; ECDSA a tenth of that."""


class HandshakeTurns:
    """Decides which handshake continues. At most one step of each connection is waiting."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()
        self._spent_seconds = 0.0
        self._scheduled = False

    def take(self, step: Callable[[], None]) -> bool:
        """Run a step now, or later if the slice is used up. Return True if it was run."""
        if self._waiting or self._spent_seconds >= SLICE_SECONDS:
            self._waiting.append(step)
            return False
        self._do(step)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._go_on)
        return True

    def _go_on(self) -> None:
        self._spent_seconds = 0.0
        while self._waiting and self._spent_seconds < SLICE_SECONDS:
            self._do(self._waiting.popleft())
        self._scheduled = bool(self._spent_seconds)
        if self._scheduled:
            self._loop.call_soon(self._go_on)

    def _do(self, step: Callable[[], None]) -> None:
        # Not the loop's time, which uvloop updates only once per turn.
        began = perf_counter()
        step()
        self._spent_seconds += perf_counter() - began
