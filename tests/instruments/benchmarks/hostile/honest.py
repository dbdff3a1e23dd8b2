"""The honest clients: a publisher at QoS 1, one at QoS 2, and a subscriber, all with sessions.

Each message is due at a moment of a steady rate, and its latency counts from this moment. So a
broker that stalls does not reduce the rate of the messages. Every client acknowledges, reconnects
when its connection is cut, and resends what was not acknowledged, as the standard requires. Every
received message is compared with the sent ones.
"""

import asyncio
import time
from collections.abc import Callable

from tests.instruments.benchmarks.hostile.figures import SERIES
from tests.instruments.benchmarks.hostile.honest_clients import (
    DRAIN_SECONDS,
    HonestPublisher,
    HonestSubscriber,
    Ledger,
    Way,
)


class Honest:
    """The three clients on one broker. Waiting stops when the broker is no longer running."""

    def __init__(self, port: int, rate: float, is_running: Callable[[], bool]) -> None:
        self.ledger = Ledger()
        self._is_running = is_running
        self._rate = rate
        way = Way(port)
        self._subscriber = HonestSubscriber(way, self.ledger)
        self._publishers = [HonestPublisher(way, qos, self.ledger) for qos in (1, 2)]

    async def begin(self) -> None:
        """Connect and subscribe."""
        await self._subscriber.open()
        await self._subscriber.subscribe()
        for publisher in self._publishers:
            await publisher.open()

    async def publish_until(self, end: asyncio.Event) -> dict[str, list[float]]:
        """Publish at the rate until `end`.

        Return the latencies of the messages due in this time.
        """
        self.ledger.latencies = {name: [] for name in SERIES}
        began, sent = time.monotonic(), 0
        while not end.is_set():
            # The publishers alternate, so that neither profits from the other's commit.
            for place, publisher in enumerate(self._publishers):
                due = began + (sent + place / len(self._publishers)) / self._rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                publisher.send(due)
            sent += 1
        await self.drain()
        return self.ledger.latencies

    async def publish_for(self, seconds: float) -> dict[str, list[float]]:
        """Publish at the rate for some seconds.

        Return the latencies of the messages due in this time.
        """
        end = asyncio.Event()
        timer = asyncio.get_running_loop().call_later(seconds, end.set)
        try:
            return await self.publish_until(end)
        finally:
            timer.cancel()

    async def drain(self) -> None:
        """Wait until everything is acknowledged and received, or for DRAIN_SECONDS."""
        deadline = time.monotonic() + DRAIN_SECONDS
        # Three clients wait for different events, so none of them knows when all are done.
        while time.monotonic() < deadline and not self._is_done() and self._is_running():  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def _is_done(self) -> bool:
        idle = all(publisher.is_idle() for publisher in self._publishers)
        return idle and len(self.ledger.received) >= len(self.ledger.due)

    def leave(self) -> None:
        """Cut all connections for good."""
        for client in (self._subscriber, *self._publishers):
            client.leave()

    def cut(self) -> None:
        """Cut all open connections. Their clients reconnect."""
        for client in (self._subscriber, *self._publishers):
            if client.transport is not None:
                client.transport.abort()
