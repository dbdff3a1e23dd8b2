"""When `$SYS` speaks: every `sys_interval` to its subscribers, and at once to a new one.

Nothing is published while nobody is subscribed; only the load averages go on, because an average
that begins with its first reader would be wrong for a quarter of an hour.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from gateway.core.broker import Broker
from gateway.server.load_average import LoadAverages
from gateway.server.stored_totals import StoredTotals
from gateway.server.system_values import counts_of, values_of

TOTALS_AGE_SECONDS_MAX: Final = 1.0
"""A count of stored messages is used again for so long: many new subscribers cost one walk."""


class SystemTopics:
    """Makes the values and has the core hand them out."""

    def __init__(self, broker: Broker, version: str, schedule: Callable[[], None]) -> None:
        self._broker = broker
        self._version = version
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self._averages = LoadAverages(counts_of(broker), self._started_at)
        self._interval_seconds: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._totals = StoredTotals(broker.state)
        self._totals_at = float("-inf")
        self._counting = False
        self._publish_due = False
        self._published: dict[str, bytes] = {}
        """What subscribers know; empty while there are none."""

    def set_interval(self, seconds: float | None) -> None:
        """Speak every so many seconds from now on; None: never, not even to new subscribers."""
        if seconds == self._interval_seconds:
            return
        self.stop()
        self._interval_seconds = seconds
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._tick)

    def stop(self) -> None:
        """Say no more."""
        self._interval_seconds = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def answer(self) -> None:
        """Clients have subscribed: tell them what holds now."""
        if self._interval_seconds is None:
            self._broker.system_messages.requests.clear()
        else:
            self._count()

    def _tick(self) -> None:
        if self._interval_seconds is None:
            return
        self._timer = self._loop.call_later(self._interval_seconds, self._tick)
        self._averages.update(counts_of(self._broker), self._loop.time())
        if self._broker.state.tree.system_count:
            self._publish_due = True
            self._count()
        else:
            self._published = {}

    def _count(self) -> None:
        if self._counting:
            return
        if self._loop.time() - self._totals_at > TOTALS_AGE_SECONDS_MAX:
            self._totals = StoredTotals(self._broker.state)
            self._totals_at = self._loop.time()
            self._counting = True
        self._advance()

    def _advance(self) -> None:
        if self._counting and not self._totals.advance():
            self._loop.call_soon(self._advance)
            return
        self._counting = False
        if self._interval_seconds is not None:
            self._speak()

    def _speak(self) -> None:
        broker = self._broker
        uptime_seconds = self._loop.time() - self._started_at
        averages = self._averages.values()
        values = values_of(broker, self._version, uptime_seconds, self._totals, averages)
        if self._publish_due:
            self._publish_due = False
            known = self._published
            news = {topic: text for topic, text in values.items() if known.get(topic) != text}
            broker.system_messages.publish(news)
            self._published = values
        elif not self._published:
            # All who are subscribed are told just now: the next round has what changes from here.
            self._published = values
        if broker.system_messages.requests:
            broker.system_messages.answer(values)
        self._schedule()
