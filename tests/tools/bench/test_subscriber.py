"""A subscriber counts and answers alike for runs and single packets, however they are split."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.broker.wire.encoder import PINGRESP, encode
from gateway.broker.wire.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from gateway.tools.bench.connection import BenchFailed
from gateway.tools.bench.frames import payload_of
from tests.tools.bench.wired import PAYLOAD_BYTES, TOPICS, pieces_of, subscriber_of, wired

PUBLISHERS = 2

# Actions of a broker, allowed and forbidden ones: (kind, publisher, number of messages).
actions = st.lists(
    st.tuples(
        st.sampled_from(
            ["run", "run", "run", "skip", "again", "marked", "changed", "foreign", "rel", "pong"]
        ),
        st.integers(0, PUBLISHERS - 1),
        st.integers(1, 30),
    ),
    max_size=25,
)


@dataclass
class Story:
    """The bytes of such actions, and the expected counts, calculated message by message."""

    qos: int
    version: int
    stream: bytearray = field(default_factory=bytearray)
    answers: bytearray = field(default_factory=bytearray)
    next: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PUBLISHERS), 0))
    seen: set[tuple[int, int]] = field(default_factory=set)
    highest: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PUBLISHERS), -1))
    duplicates: int = 0
    late: int = 0
    foreign: int = 0
    packet_id: int = 65_500

    def tell(self, what: str, publisher: int, count: int) -> None:
        if what == "skip":
            self.next[publisher] += count
        elif what == "pong":
            self.stream += PINGRESP
        elif what == "rel":
            self._release(count)
        elif what in ("again", "marked"):
            sequence = max(0, self.next[publisher] - count)
            self._publish(publisher, sequence, marked=what == "marked")
        elif what == "changed":
            self._publish(publisher, self.next[publisher], changed=True)
        elif what == "foreign":
            self._publish(9, 0)
        else:
            for _ in range(count):
                self._publish(publisher, self.next[publisher])
                self.next[publisher] += 1

    def _publish(
        self, publisher: int, sequence: int, *, marked: bool = False, changed: bool = False
    ) -> None:
        self.packet_id = self.packet_id % 65_535 + 1
        packet_id = self.packet_id if self.qos else 0
        payload = payload_of(publisher, sequence, PAYLOAD_BYTES)
        if changed:
            payload = payload[:-1] + b"?"
        topic = TOPICS[publisher] if publisher < PUBLISHERS else "t/9"
        duplicate = marked and self.qos > 0
        packet = Publish(topic, payload, self.qos, False, duplicate, packet_id)
        self.stream += encode(packet, self.version)
        if self.qos:
            answer = Puback(packet_id) if self.qos == 1 else Pubrec(packet_id)
            self.answers += encode(answer, self.version)
        if changed or publisher >= PUBLISHERS:
            self.foreign += 1
            return
        self.duplicates += (publisher, sequence) in self.seen
        is_late = (publisher, sequence) not in self.seen and sequence < self.highest[publisher]
        self.late += is_late
        self.seen.add((publisher, sequence))
        self.highest[publisher] = max(self.highest[publisher], sequence)
        self.next[publisher] = max(self.next[publisher], sequence)

    def _release(self, count: int) -> None:
        if self.qos < 2:
            return
        for packet_id in range(1, count + 1):
            # Reason code: Packet identifier not found, which exists only in MQTT 5.0
            reason_code = 0x92 if packet_id % 7 == 0 else 0
            self.stream += encode(Pubrel(packet_id, reason_code), self.version)
            self.answers += encode(Pubcomp(packet_id), self.version)


@given(
    actions=actions,
    qos=st.integers(0, 2),
    version=st.sampled_from([4, 5]),
    cuts=st.lists(st.integers(0, 1 << 16), max_size=12),
)
def test_any_stream_cut_anywhere_is_counted_and_answered_packet_by_packet(
    actions: list[tuple[str, int, int]], qos: int, version: int, cuts: list[int]
) -> None:
    story = Story(qos, version)
    for what, publisher, count in actions:
        story.tell(what, publisher, count)
    subscriber = subscriber_of(PUBLISHERS, qos=qos, version=version)
    with wired(subscriber) as broker:
        broker.feed(*pieces_of(bytes(story.stream), cuts))
        assert broker.written() == bytes(story.answers)
    had = [source.sequences for source in subscriber.sources.values()]
    assert subscriber.received == len(story.seen)
    assert sum(sequences.duplicates for sequences in had) == story.duplicates
    assert sum(sequences.late for sequences in had) == story.late
    assert subscriber.foreign == story.foreign


@settings(max_examples=20)
@given(qos=st.integers(0, 2), version=st.sampled_from([4, 5]))
def test_a_stream_cut_at_every_byte_is_counted_alike(qos: int, version: int) -> None:
    story = Story(qos, version)
    for what in ("run", "rel", "again", "run", "changed", "pong", "run"):
        story.tell(what, 0, 2)
    subscriber = subscriber_of(1, qos=qos, version=version)
    with wired(subscriber) as broker:
        broker.feed(*(bytes([byte]) for byte in story.stream))
        assert broker.written() == bytes(story.answers)
    assert subscriber.received == len(story.seen)


def test_properties_that_the_broker_adds_do_not_make_a_message_foreign() -> None:
    # Subscription identifier 5, which no subscription has, before the payload. [MQTT5-3.3.2.3.8]
    plain = encode(Publish(TOPICS[0], payload_of(0, 0, PAYLOAD_BYTES), 0, False, False, 0), 5)
    at = plain.index(TOPICS[0].encode()) + len(TOPICS[0])
    adorned = bytes([plain[0], plain[1] + 2]) + plain[2:at] + b"\x02\x0b\x05" + plain[at + 1 :]
    subscriber = subscriber_of(1, qos=0, version=5)
    with wired(subscriber) as broker:
        broker.feed(adorned)
    assert (subscriber.received, subscriber.foreign) == (1, 0)


@pytest.mark.parametrize("garbage", [b"\x36\x02\x00\x00", b"\x10\x00", b"\x30\xff\xff\xff\xff\x01"])
def test_bytes_that_are_no_packet_end_the_run(garbage: bytes) -> None:
    with wired(subscriber_of(1, qos=0, version=4)) as broker, pytest.raises(BenchFailed):
        broker.feed(garbage)
