"""Messages queued on disk for one broker, and the exchanges in flight that deliver them."""

from collections import Counter
from collections.abc import Sequence
from typing import Generic

from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.durable_queue.table import Queued, QueueTable
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges


class BrokerQueue(Generic[Queued]):
    """A broker's message queue: its state in memory, and the table in which it is stored.

    The attribute `waiting` is the number of messages whose delivery has not started. `bytes_held`
    is the total size of all messages in the queue. `counters` contains statistics since the process
    started, such as the number of forwarded messages.
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
        self.to_remove: list[Exchange[Queued]] = []
        """Completed exchanges. The next commit removes their rows."""
        self.counters: Counter[str] = Counter()

    @property
    def bytes_to_remove(self) -> int:
        """Total size of the delivered messages that the next commit removes from disk, in bytes."""
        return sum(each.message.bytes_count for each in self.to_remove)

    @property
    def can_start(self) -> bool:
        """True if a message is waiting, and there are fewer exchanges in flight than allowed."""
        return bool(self.waiting and self.exchanges.free)

    def apply(self, settlement: ExchangeSettlement[Queued]) -> None:
        """Update the queue in memory after responses from the broker.

        `settlement` contains the effects of these responses. The next commit stores them on disk.
        """
        self.settlement, self.started = settlement, []
        self.to_remove += settlement.completed
        self.counters["forwarded"] += len(settlement.completed)
        self.counters["unexpected_answers"] += settlement.unexpected_answers
        if settlement.returned:
            self.put_back(settlement.returned)

    def put_back(self, returned: Sequence[Exchange[Queued]]) -> None:
        """Count the messages of unfinished exchanges as waiting again."""
        self.waiting += len(returned)
        self.counters["republished"] += len(returned)
        self.last_started = min(self.last_started, *(each.number - 1 for each in returned))

    def write_changes(self) -> None:
        """Write the effects of the broker's responses to the table, in the current transaction.

        The caller may start new exchanges only after this call.
        """
        self._last_started_before = self.last_started
        self.table.return_to_queue(self.settlement.returned)
        self.table.release(self.settlement.released)
        self.table.remove(each.number for each in self.to_remove)

    def rows_to_start(self, limit: int) -> list[tuple[int, Queued]]:
        """Return the oldest waiting messages with their row numbers, at most `limit`.

        The messages no longer count as waiting, because the caller starts their delivery.
        """
        rows = self.table.waiting(limit, after=self.last_started) if limit else []
        if rows:
            self.last_started = rows[-1][0]
            self.waiting -= len(rows)
        return rows

    def start(self, limit: int) -> None:
        """Start the delivery of the oldest waiting messages, at most `limit`.

        The packet identifiers of the new exchanges are stored in the current transaction.
        """
        self.started = [self.exchanges.start(*row) for row in self.rows_to_start(limit)]
        self.table.start(self.started)

    def undo_start(self) -> None:
        """Undo the last call of `start`, because its transaction was rolled back."""
        self.exchanges.undo_start(self.started)
        self.waiting += len(self.started)
        self.last_started, self.started = self._last_started_before, []

    def add(self, count: int, bytes_count: int) -> None:
        """Add `count` messages with a total of `bytes_count` bytes to the queue's statistics.

        Negative arguments subtract removed messages.
        """
        self.waiting += count
        self.bytes_held += bytes_count

    def committed(self) -> None:
        """Update the queue's size after a commit has removed the delivered messages."""
        self.bytes_held -= self.bytes_to_remove
        self.to_remove.clear()
