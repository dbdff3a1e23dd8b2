"""A publisher respects its window and completes every exchange, in any order of the answers."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Packet, Puback, Pubcomp, Publish, Pubrec, Pubrel
from gateway.tools.bench.connection import BenchFailed
from gateway.tools.bench.frames import BLOCK_MESSAGES
from gateway.tools.bench.publisher import Publisher
from tests.tools.bench.wired import pieces_of, publisher_of, wired

MESSAGES = 60


class Broker:
    """A broker that answers in an order drawn by the test.

    `refused` counts refusals by reason code, which MQTT 5.0 allows.
    """

    def __init__(self, version: int) -> None:
        self.version = version
        self.decoder = Decoder(1 << 20, version)
        self.published: list[int] = []
        self.released: list[int] = []
        self.unacknowledged: dict[int, int] = {}
        self.refused = 0

    def receive(self, data: bytes) -> None:
        for packet in self.decoder.feed(data):
            if isinstance(packet, Publish):
                assert packet.packet_id not in self.unacknowledged, "an identifier twice at a time"
                self.published.append(int.from_bytes(packet.payload[2:10], "big"))
                self.unacknowledged[packet.packet_id] = packet.qos
            else:
                assert isinstance(packet, Pubrel)
                assert self.unacknowledged[packet.packet_id] == 0
                self.released.append(packet.packet_id)
        assert self.decoder.error is None

    def answer_all(self) -> Iterator[Packet]:
        """Yield a positive response to every open exchange, in order."""
        for packet_id in [*self.released, *(k for k, qos in self.unacknowledged.items() if qos)]:
            yield self._answer_to(packet_id, 0)

    def answer(self, draw: st.DataObject) -> Iterator[Packet]:
        """Yield responses to some open exchanges, in order or not. Some of them are refusals."""
        waiting = [packet_id for packet_id, qos in self.unacknowledged.items() if qos]
        waiting += self.released
        count = draw.draw(st.integers(0, len(waiting)), label="answers")
        if draw.draw(st.booleans(), label="out of order"):
            waiting = draw.draw(st.permutations(waiting))
        for packet_id in waiting[:count]:
            # Reason codes: No matching subscribers, Quota exceeded
            reason_code = draw.draw(st.sampled_from([0, 0, 0, 0, 0x10, 0x97]))
            is_said = self.unacknowledged[packet_id] > 0 and self.version == 5
            yield self._answer_to(packet_id, reason_code if is_said else 0)

    def _answer_to(self, packet_id: int, reason_code: int) -> Packet:
        qos = self.unacknowledged[packet_id]
        refused = reason_code >= 0x80
        self.refused += refused
        if qos == 2 and not refused:
            self.unacknowledged[packet_id] = 0
            return Pubrec(packet_id, reason_code)
        del self.unacknowledged[packet_id]
        if qos == 0:
            self.released.remove(packet_id)
            return Pubcomp(packet_id)
        return Puback(packet_id, reason_code) if qos == 1 else Pubrec(packet_id, reason_code)


@given(
    draw=st.data(),
    qos=st.integers(1, 2),
    version=st.sampled_from([4, 5]),
    window=st.integers(1, 50),
    start=st.sampled_from([0, BLOCK_MESSAGES - 20, 65_536 - 20]),
)
def test_any_order_of_answers_cut_anywhere_ends_all_exchanges(
    draw: st.DataObject, qos: int, version: int, window: int, start: int
) -> None:
    publisher = publisher_of(qos=qos, version=version, window=window, rows=16)
    begin_at(publisher, start)
    broker = Broker(version)
    publisher.sent_max = start + MESSAGES
    with wired(publisher) as connection:
        for turn in range(200):
            publisher.pump(time.perf_counter())
            broker.receive(connection.written())
            assert publisher.sent - publisher.completed <= window
            # After some rounds of drawn responses every exchange is answered.
            answers = broker.answer(draw) if turn < 8 else broker.answer_all()
            data = b"".join(encode(packet, version) for packet in answers)
            cuts = draw.draw(st.lists(st.integers(0, 1 << 12), max_size=3), label="cuts")
            connection.feed(*pieces_of(data, cuts))
            if publisher.is_done:
                break
    assert publisher.is_done
    assert not broker.unacknowledged
    assert broker.published == list(range(start, start + MESSAGES))
    assert publisher.refused == broker.refused


def begin_at(publisher: Publisher, sequence: int) -> None:
    """Set the publisher's counters as if `sequence` messages had been sent and acknowledged."""
    publisher.sent = sequence
    for counter in publisher.counters:
        counter.done = sequence


@pytest.mark.parametrize("qos", [1, 2])
def test_a_hundred_thousand_messages_go_through_one_window(qos: int) -> None:
    publisher = publisher_of(qos=qos, version=4, window=1000)
    publisher.sent_max = 100_000
    broker = Broker(4)
    with wired(publisher) as connection:
        while not publisher.is_done:
            publisher.pump(0.0)
            broker.receive(connection.written())
            answers = []
            for packet_id, level in list(broker.unacknowledged.items()):
                if level == 1:
                    del broker.unacknowledged[packet_id]
                    answers.append(encode(Puback(packet_id), 4))
                elif level == 2:
                    broker.unacknowledged[packet_id] = 0
                    answers.append(encode(Pubrec(packet_id), 4))
            for packet_id in broker.released:
                del broker.unacknowledged[packet_id]
                answers.append(encode(Pubcomp(packet_id), 4))
            broker.released.clear()
            connection.feed(b"".join(answers))
    assert broker.published == list(range(100_000))


@pytest.mark.parametrize(
    "answer",
    [Puback(9), Puback(40_000), Pubrec(1), Pubcomp(1)],
    ids=["never sent", "never used", "of another QoS", "of another step"],
)
def test_an_acknowledgement_that_nothing_asked_for_ends_the_run(answer: Packet) -> None:
    publisher = publisher_of(qos=1, version=4, window=5)
    publisher.sent_max = 5
    with wired(publisher) as connection, pytest.raises(BenchFailed):
        connection.feed(encode(answer, 4))


def test_a_pubcomp_before_its_pubrec_ends_the_run() -> None:
    publisher = publisher_of(qos=2, version=4, window=5)
    publisher.sent_max = 5
    with wired(publisher) as connection, pytest.raises(BenchFailed, match="PUBCOMP 1"):
        connection.feed(encode(Pubcomp(1), 4))


def test_with_a_window_of_one_the_next_message_waits_for_the_acknowledgement() -> None:
    publisher = publisher_of(qos=1, version=4, window=1)
    publisher.sent_max = 10
    broker = Broker(4)
    with wired(publisher) as connection:
        for sent in range(1, 11):
            broker.receive(connection.written())
            assert len(broker.published) == sent
            broker.unacknowledged.clear()
            connection.feed(encode(Puback(sent), 4))
    assert publisher.is_done
