"""Measures the time from the arrival of a reading to the broker's PUBCOMP."""

import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from firmware_bridge.outbox.arrivals import Batch
from firmware_bridge.readings.publications import Publication
from firmware_bridge.readings.steps import Steps
from gateway.process.mqtt_client.exchanges import Exchange

BATCHES_MAX: Final = 4096
"""Maximum number of batches whose arrival time is kept.

With a commit every 10 ms, these cover 40 seconds. In a longer backlog, only the readings in the
oldest batches are measured.
"""


class DeliveryTimes:
    """Delivery times of the readings that arrived since the start of the bridge."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int, float]] = deque()
        """First and last row number of each batch, and the monotonic time of its first arrival."""
        self._steps = Steps()

    def committed(self, batches: Sequence[Batch], last_number: int) -> None:
        """Store the arrival times of readings that have just been committed.

        `last_number` is the row number of the last reading in `batches`. The row numbers of these
        readings must be consecutive.
        """
        first = last_number + 1 - sum(len(each.publications) for each in batches)
        for batch in batches:
            count = len(batch.publications)
            if count and len(self._batches) < BATCHES_MAX:
                self._batches.append((first, first + count - 1, batch.began))
            first += count

    def completed(self, exchanges: Sequence[Exchange[Publication]]) -> None:
        """Measure the delivery times of readings whose PUBCOMP was received."""
        if not exchanges:
            return
        now, wall = time.monotonic(), time.time()
        for exchange in exchanges:
            while self._batches and self._batches[0][1] < exchange.number:
                self._batches.popleft()
            if self._batches and self._batches[0][0] <= exchange.number:
                self._steps.add(wall, now - self._batches[0][2])

    def mean_seconds(self) -> float | None:
        """Return the mean delivery time, in seconds, over the latest complete 5-second interval.

        Return None if there was no recent delivery.
        """
        mean = self._steps.latest_mean(time.time())
        return None if mean is None else round(mean, 6)
