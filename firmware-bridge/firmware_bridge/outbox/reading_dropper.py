"""Drops the oldest readings of ports with `when_full = "drop_oldest"` while the outbox is full.

A reading is not dropped once its publication has begun, because the broker might already have it.
The record of accepted board frames is separate from the readings. A repeated frame is therefore
still recognized as a repeat after its reading was dropped.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from firmware_bridge.outbox.ageing import Ageing
from firmware_bridge.outbox.store import Readings, Removable
from firmware_bridge.readings.publications import Publication
from gateway.process.mqtt_client.exchanges import Exchange

FULL_BY_BYTES = "outbox_full"
"""Name in a port's counters for readings dropped because the outbox reached its size limit."""
FULL_BY_AGE = "outbox_age"
"""Name in a port's counters for readings dropped because they exceeded the maximum age."""

# Rows per query.
_PAGE_ROWS = 256
# Maximum seconds between two periodic checks of the age of readings. Each commit checks it too.
_SEARCH_SECONDS_MAX = 60.0
# Readings are no longer dropped below this share of the limit.
_ROOM_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class DropCallbacks:
    """Callbacks that notify a port when its oldest readings are dropped.

    `dropped` is called with the reason and the number of dropped readings. `ended` is called when
    the outbox has room again.
    """

    dropped: Callable[[str, int], None]
    ended: Callable[[], None]


@dataclass
class Dropped:
    """The readings that a transaction drops, and the number of drops for each port and reason."""

    rows: list[Removable]
    counts: Counter[tuple[str, str]]


class ReadingDropper:
    """The part of the outbox that chooses and drops readings while the outbox is full.

    `removable_bytes` is the size of the stored readings that may be dropped. `due` is set to True
    periodically, so that the next commit drops readings that have become too old. The function
    `wake` starts a commit.
    """

    def __init__(
        self, readings: Readings, bytes_max: int, ageing: Ageing, wake: Callable[[], None]
    ) -> None:
        self._readings = readings
        self._bytes_max = bytes_max
        self.ageing = ageing
        self._wake = wake
        self._ports: dict[str, DropCallbacks] = {}
        self._searched_to = 0
        """The row number up to which no more readings can be dropped."""
        self._dropping: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.removable_bytes = 0
        self.due = False
        self._search_again()

    def watch(self, name: str, callbacks: DropCallbacks, last_started: int) -> None:
        """Register a port whose oldest readings may be dropped.

        `last_started` is the row number of the last reading whose publication has begun. Neither
        this reading nor earlier ones are dropped.
        """
        self._ports[name] = callbacks
        self.removable_bytes += self._readings.removable_bytes_after(last_started, name)

    def started(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Protect the readings in `exchanges` from drops, because their publication has begun."""
        self.removable_bytes -= self._bytes_of(exchanges)

    def returned(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Allow the readings in `exchanges` to be dropped again, because their session was lost."""
        self.removable_bytes += self._bytes_of(exchanges)
        self._searched_to = 0

    def drop(self, held_bytes: int, last_started: int) -> Dropped:
        """Drop readings that are too old, or the oldest readings if the outbox is too large.

        The readings are deleted in the current transaction, and returned. `held_bytes` is the size
        of all stored readings. Readings up to the row number `last_started` are kept, because their
        publication has begun.
        """
        dropped = Dropped([], Counter())
        number = max(self._searched_to, last_started)
        excess = held_bytes - self._bytes_max
        while self._ports and (excess > 0 or self.ageing.age_max_seconds is not None):
            page = self._readings.removable_after(number, _PAGE_ROWS)
            for row in page:
                if row.port not in self._ports:
                    continue  # the port is not watched, so its readings are kept
                is_old = self.ageing.is_old(row.arrived)
                if excess <= 0 and not is_old:
                    page = []
                    break
                excess -= row.bytes_count
                dropped.rows.append(row)
                dropped.counts[row.port, FULL_BY_AGE if is_old else FULL_BY_BYTES] += 1
            if not page:
                break
            number = page[-1].number
        self._readings.drop(dropped.rows)
        return dropped

    def committed(self, dropped: Dropped, held_bytes: int) -> None:
        """After a commit, notify ports that readings were dropped or that dropping has ended.

        Dropping ends when a commit has dropped no readings and the outbox has room again.
        `held_bytes` is the size of all stored readings.
        """
        self.due = False
        self.removable_bytes -= sum(row.bytes_count for row in dropped.rows)
        if dropped.rows:
            self._searched_to = dropped.rows[-1].number
        for (name, reason), count in dropped.counts.items():
            self._dropping.add(name)
            self._ports[name].dropped(reason, count)
        if not dropped.rows and held_bytes < self._bytes_max * _ROOM_SHARE:
            for name in self._dropping:
                self._ports[name].ended()
            self._dropping.clear()

    def cancel(self) -> None:
        """Stop the periodic check of the ages of readings."""
        if self._timer is not None:
            self._timer.cancel()

    def _search_again(self) -> None:
        age_max = self.ageing.age_max_seconds
        if age_max is not None:
            seconds = min(_SEARCH_SECONDS_MAX, age_max / 10)
            self._timer = asyncio.get_running_loop().call_later(seconds, self._find_droppable)

    def _find_droppable(self) -> None:
        self.due = True
        self._search_again()
        self._wake()

    def _bytes_of(self, exchanges: Iterable[Exchange[Publication]]) -> int:
        found = (each.message for each in exchanges)
        return sum(each.bytes_count for each in found if each.gives_way_of in self._ports)
