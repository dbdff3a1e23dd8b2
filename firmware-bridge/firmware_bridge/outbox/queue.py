"""The readings on disk that wait for an exchange, in order of arrival."""

from collections.abc import Sequence

from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.readings.publications import Publication
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges


class Queue:
    """`waiting` is how many there are. Rows up to `last_started` are in exchanges."""

    def __init__(self, store: OutboxStore, exchanges: Exchanges[Publication]) -> None:
        self._store = store
        self._exchanges = exchanges
        in_flight = exchanges.in_order()
        self.last_started = in_flight[-1].number if in_flight else 0
        self._last_started_before = self.last_started
        self.waiting = store.count - len(in_flight)

    def start(self, count: int) -> list[Exchange[Publication]]:
        """Begin exchanges for the next `count` readings, within the store's transaction."""
        self._last_started_before = self.last_started
        if not count:
            return []
        rows = self._store.waiting_after(self.last_started, count)
        if not rows:
            return []
        started = [self._exchanges.start(*row) for row in rows]
        self._store.start(started)
        self.last_started = started[-1].number
        self.waiting -= len(started)
        return started

    def take_back(self, started: Sequence[Exchange[Publication]]) -> None:
        """Undo the latest `start`, whose transaction came to nothing."""
        self._exchanges.take_back(started)
        self.waiting += len(started)
        self.last_started = self._last_started_before

    def put_back(self, returned: Sequence[Exchange[Publication]]) -> None:
        """Queue the readings of ended exchanges again: the oldest rows, in order."""
        self.last_started = returned[0].number - 1
        self.waiting += len(returned)
