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
FULL_BY_AGE = "outbox_age"
"""The reasons for dropping readings, as they are named in the port's counters."""

# Rows per query.
_PAGE_ROWS = 256
# Maximum seconds between two periodic checks of the age of readings. Each commit checks it too.
_SEARCH_SECONDS_MAX = 60.0
# Readings are no longer dropped below this share of the limit.
_ROOM_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Port:
    """Callbacks of a port that is configured to drop its oldest readings.

    `dropped` is called with the reason and the number of readings that were dropped. `over` is
    called when the outbox has room again.
    """

    dropped: Callable[[str, int], None]
    over: Callable[[], None]


@dataclass
class Dropped:
    """The readings that a transaction drops, and how many are dropped for each port and reason."""

    rows: list[Removable]
    counts: Counter[tuple[str, str]]


class ReadingDropper:
    """The part of the outbox that chooses and drops readings while the outbox is full.

    `removable_bytes` is the size of the stored readings that may be dropped now. If `due` is True,
    the next commit must check the ages of readings. `wake` is called to start a commit.
    """

    def __init__(
        self, readings: Readings, bytes_max: int, ageing: Ageing, wake: Callable[[], None]
    ) -> None:
        self._readings = readings
        self._bytes_max = bytes_max
        self.ageing = ageing
        self._wake = wake
        self._ports: dict[str, Port] = {}
        self._searched_to = 0
        """The row number up to which no more readings can be dropped."""
        self._dropping: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.removable_bytes = 0
        self.due = False
        self._search_again()

    def watch(self, name: str, port: Port, last_started: int) -> None:
        """Register a port whose oldest readings may be dropped.

        Only readings after the row `last_started` may be dropped, because the publication of
        earlier readings has begun.
        """
        self._ports[name] = port
        self.removable_bytes += self._readings.removable_bytes_after(last_started, name)

    def started(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Keep the readings in `exchanges` from being dropped: their publication has begun."""
        self.removable_bytes -= self._bytes_of(exchanges)

    def returned(self, exchanges: Iterable[Exchange[Publication]]) -> None:
        """Allow the readings in `exchanges` to be dropped again: the session was lost."""
        self.removable_bytes += self._bytes_of(exchanges)
        self._searched_to = 0

    def drop(self, held_bytes: int, last_started: int) -> Dropped:
        """Drop readings that exceed the size limit or the age limit, and return them.

        The readings are deleted in the current transaction. `held_bytes` is the size of all stored
        readings. Readings up to the row `last_started` are being published and cannot be dropped.
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
        """Report dropped readings to their ports after the commit.

        If no readings were dropped and the outbox has room again, call `over` for each port that
        was dropping readings. `held_bytes` is the size of all stored readings.
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
                self._ports[name].over()
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
