"""Time from a reading's last byte to the broker's PUBCOMP."""

import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from firmware_bridge.outbox.arrivals import Batch
from firmware_bridge.readings.publications import Publication
from firmware_bridge.readings.steps import Steps
from gateway.process.mqtt_client.exchanges import Exchange

BATCHES_MAX: Final = 4096
"""Batches whose time is kept; the readings of the others have none. A commit each 10 ms makes 40
seconds of them; with a longer backlog the mean is that of the oldest readings."""


class DeliveryTimes:
    """Delivery times of readings that this run has read."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int, float]] = deque()
        """First and last row of a batch, and when its first reading arrived (monotonic)."""
        self._steps = Steps()

    def committed(self, batches: Sequence[Batch], last_number: int) -> None:
        """Note the rows of batches that are on disk; the last of them is `last_number`."""
        first = last_number + 1 - sum(len(each.publications) for each in batches)
        for batch in batches:
            count = len(batch.publications)
            if count and len(self._batches) < BATCHES_MAX:
                self._batches.append((first, first + count - 1, batch.began))
            first += count

    def completed(self, exchanges: Sequence[Exchange[Publication]]) -> None:
        """Measure exchanges whose PUBCOMP has come."""
        if not exchanges:
            return
        now, wall = time.monotonic(), time.time()
        for exchange in exchanges:
            while self._batches and self._batches[0][1] < exchange.number:
                self._batches.popleft()
            if self._batches and self._batches[0][0] <= exchange.number:
                self._steps.add(wall, now - self._batches[0][2])

    def mean_seconds(self) -> float | None:
        """Return the mean of the latest 5 seconds with a reading; None if that was long ago."""
        mean = self._steps.latest_mean(time.time())
        return None if mean is None else round(mean, 6)
