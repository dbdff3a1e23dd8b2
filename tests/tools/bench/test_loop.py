"""The event loop passes whole packets to the clients, and writes unsent bytes later."""

import time

import pytest

from gateway.broker.wire.encoder import PINGRESP, encode
from gateway.broker.wire.packets import Publish
from gateway.tools.bench.connection import BenchFailed
from gateway.tools.bench.frames import payload_of
from gateway.tools.bench.loop import IDLE_SECONDS, Loop
from tests.tools.bench.wired import PAYLOAD_BYTES, TOPICS, subscriber_of, wired


def test_a_packet_larger_than_any_of_ours_ends_the_run() -> None:
    header = b"\x30" + b"\x80\x80\x80\x01"
    with (
        wired(subscriber_of(1, qos=0, version=4)) as broker,
        pytest.raises(BenchFailed, match="none of ours"),
    ):
        broker.feed(header, *[bytes(64 * 1024)] * 4)


def test_what_the_kernel_does_not_take_is_written_in_order_when_there_is_room() -> None:
    client = subscriber_of(1, qos=0, version=4)
    data = b"".join(number.to_bytes(4, "big") for number in range(1 << 20))
    with wired(client) as broker:
        client.send(data)
        client.send(b"the end")
        assert client.unsent
        # The loop notices the unsent bytes at the client's next packet.
        broker.feed(PINGRESP)
        assert client.is_watched
        written = broker.written()
        while client.unsent:
            broker.feed(PINGRESP)
            written += broker.written()
        assert not client.is_watched
    assert written == data + b"the end"


def test_a_broker_that_closes_the_connection_ends_the_run() -> None:
    with (
        wired(subscriber_of(1, qos=0, version=4)) as broker,
        pytest.raises(BenchFailed, match="subscriber: the broker closed the connection"),
    ):
        broker.end()


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_packet_that_comes_in_two_reads_is_kept_until_it_is_whole(cut: int) -> None:
    client = subscriber_of(1, qos=0, version=4)
    frame = encode(Publish(TOPICS[0], payload_of(0, 0, PAYLOAD_BYTES), 0, False, False, 0), 4)
    with wired(client) as broker:
        broker.feed(frame[:cut])
        assert bytes(client.partial) == frame[:cut]
        assert client.sources[0].sequences.received == 0
        broker.feed(frame[cut:])
        assert client.partial == b""
        assert client.sources[0].sequences.received == 1


def test_a_loop_that_waits_returns_ten_times_a_second_and_a_spinning_one_always() -> None:
    began = time.perf_counter()
    with Loop() as loop:
        loop.begin()
        loop.tick()
    assert time.perf_counter() - began >= IDLE_SECONDS / 2
    began = time.process_time()
    with Loop(spin=True) as loop:
        loop.begin()
        for _ in range(10):
            loop.tick()
    assert time.process_time() - began < IDLE_SECONDS
