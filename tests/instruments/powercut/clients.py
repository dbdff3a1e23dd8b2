"""Resuming clients that record a broker's faults instead of failing immediately.

So the same clients test a broker that must be faultless, a lying disk, and other brokers.
"""

import random
from dataclasses import dataclass, field

from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Received
from tests.peers.resuming_client import Progress, Publisher, Subscriber, Tally

END_TOPICS = ("load/end/1", "load/end/2")
"""Topics of the last messages, in this order. All other messages of a session come before."""

NOTES_MAX = 20
"""Only the first faults are described, because a broker without storage has thousands."""


@dataclass
class Verdict:
    """The faults found in a broker, as counts and sentences."""

    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    forgotten: int = 0
    disordered: int = 0
    gaps: int = 0
    """Skipped numbers: lost, or about to arrive out of order."""

    torn: int = 0
    """Readings that differ from the sensor's, or are incomplete."""

    damaged: int = 0
    """Starts that found damage. An honest disk keeps all synced data, so it has none."""

    notes: list[str] = field(default_factory=list)

    def is_clean(self) -> bool:
        """Return True if no fault was found."""
        wrong = (self.lost, self.doubled, self.forgotten, self.disordered, self.gaps, self.torn)
        return not any(wrong) and not self.damaged

    def note(self, sentence: str) -> None:
        """Add a sentence to the report."""
        if len(self.notes) < NOTES_MAX:
            self.notes.append(sentence)


class LedgerPublisher(Publisher):
    """A publisher that records the numbers whose acknowledgement is complete."""

    def __init__(
        self,
        port: int,
        name: str,
        source: random.Random,
        progress: Progress,
        *,
        window: int,
        verdict: Verdict,
    ) -> None:
        super().__init__(port, name, source, progress, window=window)
        self._verdict = verdict
        self.acknowledged: dict[str, set[int]] = {self.topic_of(qos): set() for qos in (1, 2)}

    def session_forgotten(self) -> None:
        self._verdict.forgotten += 1
        self._verdict.note(f"the session of {self.client_id} was forgotten")

    async def receive(self, client: ByteClient, packet: Received) -> None:
        message = self._unfinished.get(packet.packet_id)
        if message is not None and packet.kind in (Kind.PUBACK, Kind.PUBCOMP):
            self.acknowledged[message.topic].add(int(message.payload))
            self._verdict.acknowledged += 1
        await super().receive(client, packet)


class WatchfulSubscriber(Subscriber):
    """A subscriber that records every received number."""

    def __init__(
        self,
        port: int,
        name: str,
        source: random.Random,
        progress: Progress,
        *,
        filters: tuple[tuple[str, int], ...],
        verdict: Verdict,
        rest_seconds: float = 0.0,
    ) -> None:
        super().__init__(port, name, source, progress, filters=filters, rest_seconds=rest_seconds)
        self.seen: dict[str, set[int]] = {}
        self._verdict = verdict
        self._written_off = 0

    def is_finished(self) -> bool:
        # If a broker forgot to release identifiers, a client would wait for them forever.
        is_complete = not self._received_ids or not self._verdict.is_clean()
        return (
            self.progress.expected is not None
            and is_complete
            and all(topic in self.seen for topic in END_TOPICS)
        )

    def session_forgotten(self) -> None:
        self._verdict.forgotten += 1
        self._verdict.note(f"the session of {self.client_id} was forgotten")
        self.is_subscribed.clear()
        self._received_ids.clear()
        # No publisher waits for a subscriber to receive lost messages.
        self._written_off = self.progress.published - self._taken()

    async def receive(self, client: ByteClient, packet: Received) -> None:
        is_reused = packet.qos == 2 and packet.packet_id in self._received_ids and not packet.dup
        if packet.kind is Kind.PUBLISH and is_reused:
            self._verdict.disordered += 1
            self._verdict.note(f"{self.client_id}: {_text_of(packet)} takes an id that is in use")
            await client.acknowledge(Kind.PUBREC, packet.packet_id)
            return
        await super().receive(client, packet)

    def _taken(self) -> int:
        return sum(tally.last for tally in self.tallies.values())

    def _count(self, packet: Received) -> None:
        tally = self.tallies.setdefault(packet.topic, Tally())
        seen = self.seen.setdefault(packet.topic, set())
        number = int(packet.payload)
        assert packet.qos == min(int(packet.topic[-1]), self._granted), packet
        if number > tally.last + 1:
            self._verdict.gaps += 1
            self._verdict.note(f"{self.client_id}: {_text_of(packet)} after {tally.last}")
        if number > tally.last:
            tally.last = number
            self.progress.taken[self.client_id] = self._written_off + self._taken()
        elif number not in seen:
            self._verdict.disordered += 1
            self._verdict.note(f"{self.client_id}: {_text_of(packet)} after {tally.last}")
        elif packet.qos == 2:
            self._verdict.doubled += 1
            self._verdict.note(f"{self.client_id}: doubled {_text_of(packet)} after {tally.last}")
        else:
            tally.repeated += 1
        seen.add(number)


def _text_of(packet: Received) -> str:
    number = packet.payload.decode()
    return f"{packet.topic} {number} (QoS {packet.qos}, packet identifier {packet.packet_id})"


def count_losses(
    publishers: list[LedgerPublisher], subscribers: list[WatchfulSubscriber], verdict: Verdict
) -> None:
    """Count messages that were acknowledged to a publisher but never reached a subscriber.

    Call this after all clients have finished.
    """
    for publisher in publishers:
        for topic, acknowledged in publisher.acknowledged.items():
            for subscriber in subscribers:
                lost = acknowledged - subscriber.seen.get(topic, set())
                verdict.lost += len(lost)
                if lost:
                    which = f"{len(lost)} of {topic}, the first {min(lost)}"
                    verdict.note(f"{subscriber.client_id}: lost {which}")
