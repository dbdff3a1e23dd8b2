"""Messages queued on disk for one broker, and the exchanges in flight that deliver them."""

from collections import Counter
from collections.abc import Sequence
from typing import Generic

from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.durable_queue.table import Queued, QueueTable
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges


class BrokerQueue(Generic[Queued]):
    """The in-memory state of one message queue.

    `waiting` is the number of messages whose delivery has not started yet. `bytes_held` is the
    total size of all messages in the queue. `counters` count events since the process started.
    """

    def __init__(
        self, table: QueueTable[Queued], exchanges: Exchanges[Queued], *, session_key: str
    ) -> None:
        self.table = table
        self.exchanges = exchanges
        self.session_key = session_key
        """Key in the table `properties` under which our session's name is stored."""
        exchanges.resume(table.in_flight())
        count, self.bytes_held = table.totals()
        self.waiting = count - len(exchanges)
        self.last_started = self._last_started_before = 0
        """Row number up to which no message waits to be sent."""
        self.settlement = ExchangeSettlement(exchanges)
        """Effects of the broker's responses, which the next commit makes durable."""
        self.started: list[Exchange[Queued]] = []
        """Exchanges that the next commit starts."""
        self.gone: list[Exchange[Queued]] = []
        """Completed exchanges. The next commit removes their rows."""
        self.counters: Counter[str] = Counter()

    @property
    def gone_bytes(self) -> int:
        """Total size in bytes of the messages in `gone`, which are not yet removed from disk."""
        return sum(each.message.bytes_count for each in self.gone)

    @property
    def can_start(self) -> bool:
        """True if messages are waiting, and the limit on exchanges in flight allows another one."""
        return bool(self.waiting and self.exchanges.free)

    def settle(self, settlement: ExchangeSettlement[Queued]) -> None:
        """Apply the effects of the broker's responses to the queue.

        The next commit makes the effects durable.
        """
        self.settlement, self.started = settlement, []
        self.gone += settlement.completed
        self.counters["forwarded"] += len(settlement.completed)
        self.counters["unexpected_answers"] += settlement.unexpected_answers
        if settlement.returned:
            self.put_back(settlement.returned)

    def put_back(self, returned: Sequence[Exchange[Queued]]) -> None:
        """Put the messages of unfinished exchanges back into the queue."""
        self.waiting += len(returned)
        self.counters["republished"] += len(returned)
        self.last_started = min(self.last_started, *(each.number - 1 for each in returned))

    def write_settled(self) -> None:
        """Write the effects of the broker's responses to the table, in the current transaction.

        The caller must start new exchanges only after this call.
        """
        self._last_started_before = self.last_started
        self.table.return_to_queue(self.settlement.returned)
        self.table.release(self.settlement.released)
        self.table.remove(each.number for each in self.gone)

    def rows_to_start(self, limit: int) -> list[tuple[int, Queued]]:
        """Return the oldest waiting messages with their row numbers, and count them as started."""
        rows = self.table.waiting(limit, after=self.last_started) if limit else []
        if rows:
            self.last_started = rows[-1][0]
            self.waiting -= len(rows)
        return rows

    def start(self, limit: int) -> None:
        """Start exchanges for the oldest messages, at most `limit`.

        The packet identifiers of the exchanges are stored in the current transaction.
        """
        self.started = [self.exchanges.start(*row) for row in self.rows_to_start(limit)]
        self.table.start(self.started)

    def undo_start(self) -> None:
        """Undo `start` after its transaction was rolled back."""
        self.exchanges.undo_start(self.started)
        self.waiting += len(self.started)
        self.last_started, self.started = self._last_started_before, []

    def add(self, count: int, bytes_count: int) -> None:
        """Add `count` messages with `bytes_count` bytes to the totals of the queue.

        Negative arguments subtract removed messages.
        """
        self.waiting += count
        self.bytes_held += bytes_count

    def committed(self) -> None:
        """Record that the messages in `gone` have been removed from disk durably."""
        self.bytes_held -= self.gone_bytes
        self.gone.clear()
