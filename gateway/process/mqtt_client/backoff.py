"""Exponential back-off between connection attempts, with a limit and random jitter."""

import asyncio
import random

FIRST_SECONDS = 0.25
# Half a minute is bearable for a person who reconnects a cable and watches the page.
LAST_SECONDS = 30.0
# Gateways that lost a broker together must not reconnect at the same time.
_JITTER_SHARE = 0.2


class Backoff:
    """Delays between connection attempts.

    They double from `first_seconds` up to `last_seconds`.
    """

    def __init__(
        self, last_seconds: float = LAST_SECONDS, *, first_seconds: float | None = None
    ) -> None:
        self._first_seconds = FIRST_SECONDS if first_seconds is None else first_seconds
        self._seconds = self._first_seconds
        self._last_seconds = last_seconds

    def reset(self) -> None:
        """Reset the delay to `first_seconds`, for example after a connection was established."""
        self._seconds = self._first_seconds

    async def wait(self) -> None:
        """Wait for the current delay, and double it for the next call.

        The wait is randomly shortened, so that many gateways do not reconnect at the same time.
        """
        seconds = self._seconds
        self._seconds = min(self._last_seconds, seconds * 2)
        await asyncio.sleep(seconds * (1 - _JITTER_SHARE * random.random()))  # noqa: S311
