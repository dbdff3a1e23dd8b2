"""Functions that wait for asyncio events with a timeout, and delays between retries."""

from __future__ import annotations

import asyncio
import random


async def happened_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event. Return True, or False if ``seconds`` have passed without the event."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


async def either_within(one: asyncio.Event, other: asyncio.Event, seconds: float) -> None:
    """Wait until at least one of two events is set, or until ``seconds`` have passed."""
    waits = [asyncio.create_task(event.wait()) for event in (one, other)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


class Backoff:
    """Delays between retries, which double from a minimum to a maximum.

    They are randomised, so that a fleet of gateways does not retry at the same time.
    """

    def __init__(self, limits_seconds: tuple[float, float]) -> None:
        self._first_seconds, self._longest_seconds = limits_seconds
        self._seconds = self._first_seconds

    def next_seconds(self) -> float:
        seconds = self._seconds
        self._seconds = min(2 * seconds, self._longest_seconds)
        return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret

    def reset(self) -> None:
        self._seconds = self._first_seconds
