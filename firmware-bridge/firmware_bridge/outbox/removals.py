"""Rows of completed exchanges: they go with the next commit, or with one of their own.

No client waits for a removal, and a commit for it alone wears the card: it may take a second.
"""

import asyncio
from collections.abc import Callable, Iterable

from firmware_bridge.readings.publications import Publication
from gateway.process.mqtt_client.exchanges import Exchange

# A removal alone is not worth an immediate fsync: SD cards wear out by small writes.
REMOVAL_SECONDS = 1.0


class Removals:
    """`due`: they are worth a commit of their own; `wake` is called when they become so."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._timer: asyncio.TimerHandle | None = None
        self.exchanges: list[Exchange[Publication]] = []
        self.due = False

    def add(self, completed: Iterable[Exchange[Publication]]) -> None:
        """Note exchanges whose PUBCOMP has come."""
        self.exchanges += completed

    def postpone(self) -> None:
        """Wait for the next commit, `REMOVAL_SECONDS` at the most."""
        if self.exchanges and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(REMOVAL_SECONDS, self._make_due)

    def committed(self) -> None:
        """Forget them: their rows are gone."""
        self.exchanges, self.due = [], False

    def cancel(self) -> None:
        """End the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _make_due(self) -> None:
        self._timer = None
        self.due = bool(self.exchanges)
        self._wake()
