"""A subscriber that counts by number: a message ahead of others is not a loss, and later ones are
not repeats."""

import random
from collections import Counter

from tests.peers.mqtt_bytes import Received
from tests.peers.resuming_client import Progress, Subscriber, Tally


class NumberedSubscriber(Subscriber):
    """A subscriber whose tally's `last` is the number up to which all messages have arrived."""

    counts: Counter[str]

    def __init__(
        self, port: int, name: str, source: random.Random, progress: Progress, topic_filter: str
    ) -> None:
        super().__init__(port, name, source, progress, filters=((topic_filter, 2),))
        self._ahead: dict[str, set[int]] = {}

    def session_forgotten(self) -> None:
        self.counts["sessions forgotten"] += 1

    def count_lost(self) -> None:
        """Count the messages that were published and did not arrive."""
        expected = self.progress.expected or {}
        come = sum(tally.last for tally in self.tallies.values())
        come += sum(len(ahead) for ahead in self._ahead.values())
        self.counts["messages lost"] = sum(expected.values()) - come

    def _count(self, packet: Received) -> None:
        tally = self.tallies.setdefault(packet.topic, Tally())
        ahead = self._ahead.setdefault(packet.topic, set())
        number = int(packet.payload)
        if number <= tally.last or number in ahead:
            tally.repeated += 1
            if packet.qos == 2:
                self.counts["messages doubled"] += 1
            return
        if number > tally.last + 1:
            self.counts["messages out of order"] += 1
        self.progress.taken[self.client_id] += 1
        ahead.add(number)
        while tally.last + 1 in ahead:
            tally.last += 1
            ahead.discard(tally.last)
