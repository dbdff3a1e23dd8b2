"""Publishes the `$SYS` topics: once per `sys_interval`, and immediately to new subscribers.

Nothing is published while there are no subscribers. Load averages are updated even without
subscribers, because an average that started with the first subscriber would be wrong for a quarter
of an hour.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from gateway.broker.core.broker import Broker
from gateway.broker.server.status.load_average import LoadAverages
from gateway.broker.server.status.system_values import counts_of, values_of
from gateway.broker.server.status.totals import SessionTotals, Totals

TOTALS_AGE_SECONDS_MAX: Final = 1.0
"""Maximum age of totals that are reused, so that many new subscribers cause only one pass over the
sessions."""


class SystemTopics:
    """Publisher of the `$SYS` topics. It passes their values to the broker core."""

    def __init__(
        self, broker: Broker, totals: SessionTotals, version: str, schedule: Callable[[], None]
    ) -> None:
        self._broker = broker
        self._totals = totals
        self._version = version
        self._schedule = schedule
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self._averages = LoadAverages(counts_of(broker), self._started_at)
        self._interval_seconds: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asked = False
        """True if totals were requested and have not arrived yet."""
        self._publish_due = False
        self._published: dict[str, bytes] = {}
        """The values that were published last. Empty while there are no subscribers."""

    def set_interval(self, seconds: float | None) -> None:
        """Set the publication interval in seconds. None switches the `$SYS` topics off."""
        if seconds == self._interval_seconds:
            return
        self.stop()
        self._interval_seconds = seconds
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._interval_over)

    def stop(self) -> None:
        """Stop publishing the `$SYS` topics."""
        self._interval_seconds = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def answer(self) -> None:
        """Send the current values of the `$SYS` topics to new subscribers."""
        if self._interval_seconds is None:
            self._broker.effects.system_subscriptions.clear()
        else:
            self._ask()

    def _interval_over(self) -> None:
        if self._interval_seconds is None:
            return
        self._timer = self._loop.call_later(self._interval_seconds, self._interval_over)
        self._averages.update(counts_of(self._broker), self._loop.time())
        if self._broker.state.tree.system_count:
            self._publish_due = True
            self._ask()
        else:
            self._published = {}

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._totals.ask(self._receive, age_seconds_max=TOTALS_AGE_SECONDS_MAX)

    def _receive(self, totals: Totals) -> None:
        self._asked = False
        if self._interval_seconds is not None:
            self._publish(totals)

    def _publish(self, totals: Totals) -> None:
        broker = self._broker
        uptime_seconds = self._loop.time() - self._started_at
        averages = self._averages.values()
        values = values_of(broker, self._version, uptime_seconds, totals, averages)
        if self._publish_due:
            self._publish_due = False
            known = self._published
            news = {topic: text for topic, text in values.items() if known.get(topic) != text}
            broker.publish_system_values(news)
            self._published = values
        elif not self._published:
            # All subscribers get everything now; the next round sends changes relative to this.
            self._published = values
        if broker.effects.system_subscriptions:
            broker.answer_system_subscriptions(values)
        self._schedule()
