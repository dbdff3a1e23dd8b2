"""The load generator finds a broker's errors. One that trusts the broker would measure nothing."""

from collections.abc import Iterable

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Packet,
    Puback,
    Publish,
    Suback,
)
from gateway.tools.bench.connection import BenchFailed
from tests.tools.bench.lying_broker import COUNT, LyingBroker, copy_of, result_of

EVERY = 50

qualities = pytest.mark.parametrize("qos", [0, 1, 2])


@qualities
@pytest.mark.parametrize("version", [4, 5])
async def test_an_honest_broker_is_found_to_be_honest(qos: int, version: int) -> None:
    async with LyingBroker() as broker:
        result = await result_of(broker, qos=qos, version=version)
    assert result.is_clean
    assert (result.sent, result.received, result.completed) == (COUNT, COUNT, COUNT)


@qualities
async def test_every_lost_message_is_counted(qos: int) -> None:
    def lose(number: int, message: Publish) -> Iterable[Publish]:
        return [] if number % EVERY == 7 else [message]

    async with LyingBroker(forward=lose) as broker:
        result = await result_of(broker, qos=qos)
    assert result.faults.lost == COUNT // EVERY
    assert result.received == COUNT - COUNT // EVERY
    assert not result.is_clean


@qualities
async def test_the_last_messages_are_waited_for_and_then_lost(qos: int) -> None:
    def lose_the_end(number: int, message: Publish) -> Iterable[Publish]:
        return [message] if number < COUNT - 5 else []

    async with LyingBroker(forward=lose_the_end) as broker:
        result = await result_of(broker, qos=qos)
    assert result.faults.lost == 5


@qualities
async def test_every_repeated_message_is_counted(qos: int) -> None:
    def repeat(number: int, message: Publish) -> Iterable[Publish]:
        return [message, message] if number % EVERY == 7 else [message]

    async with LyingBroker(forward=repeat) as broker:
        result = await result_of(broker, qos=qos)
    assert result.faults.duplicates == COUNT // EVERY
    assert result.faults.lost == 0


@qualities
async def test_every_message_that_comes_too_late_is_counted(qos: int) -> None:
    kept: list[Publish] = []

    def disorder(number: int, message: Publish) -> Iterable[Publish]:
        if number % EVERY == 7:
            kept.append(message)
            return []
        return [message, *(kept.pop() for _ in range(len(kept)))]

    async with LyingBroker(forward=disorder) as broker:
        result = await result_of(broker, qos=qos)
    assert result.faults.late == COUNT // EVERY
    assert (result.faults.lost, result.faults.duplicates) == (0, 0)


@qualities
async def test_a_changed_byte_of_a_payload_is_found(qos: int) -> None:
    def change(number: int, message: Publish) -> Iterable[Publish]:
        payload = message.payload[:-1] + b"!" if number == 100 else message.payload
        return [copy_of(message, payload)]

    async with LyingBroker(forward=change) as broker:
        result = await result_of(broker, qos=qos)
    assert (result.faults.foreign, result.faults.lost) == (1, 1)


@pytest.mark.parametrize("qos", [1, 2])
async def test_a_message_that_is_never_acknowledged_is_unfinished(qos: int) -> None:
    def forget(packet: Packet) -> list[Packet] | None:
        is_last = isinstance(packet, Publish) and packet.packet_id == COUNT
        return [] if is_last else None

    async with LyingBroker(answer=forget) as broker:
        result = await result_of(broker, qos=qos)
    assert result.faults.unfinished == 1
    assert result.faults.lost == 0


async def test_a_message_refused_with_a_reason_code_is_counted() -> None:
    def refuse(packet: Packet) -> list[Packet] | None:
        if isinstance(packet, Publish) and packet.packet_id % EVERY == 0:
            # Reason code: Quota exceeded
            return [Puback(packet.packet_id, 0x97)]
        return None

    async with LyingBroker(answer=refuse) as broker:
        result = await result_of(broker, qos=1, version=5)
    assert result.faults.refused == COUNT // EVERY
    assert result.faults.unfinished == 0


@pytest.mark.parametrize(
    ("kind", "answer", "words"),
    [
        ("Connect", Connack(False, 5), r"not authorized \(0x05\)"),
        ("Connect", Suback(1, [0]), "instead of CONNACK"),
        ("Subscribe", Suback(1, [0x80]), "expected QoS 0"),
        ("Subscribe", Suback(1, [1]), "expected QoS 0"),
        ("Publish", Puback(1), "answered QoS 0 with PUBACK 1"),
        ("Publish", Suback(1, [0]), "to a publisher"),
    ],
)
async def test_an_answer_that_no_broker_may_give_ends_the_run(
    kind: str, answer: Packet, words: str
) -> None:
    def lie(packet: Packet) -> list[Packet] | None:
        return [answer] if type(packet).__name__ == kind else None

    async with LyingBroker(answer=lie) as broker:
        with pytest.raises(BenchFailed, match=words):
            await result_of(broker)


async def test_a_closed_connection_ends_the_run() -> None:
    async with LyingBroker(close_after=100) as broker:
        with pytest.raises(BenchFailed, match="closed the connection"):
            await result_of(broker, qos=1)


async def test_without_a_count_lost_messages_do_not_stop_the_others() -> None:
    def lose_most(number: int, message: Publish) -> Iterable[Publish]:
        # No message arrives until the publisher counts the missing ones as lost.
        return [message] if number < 5 or number >= 10 else []

    async with LyingBroker(forward=lose_most) as broker:
        result = await result_of(
            broker, qos=1, count=None, window=5, outstanding=5, warm_up_seconds=0.0,
            duration_seconds=3.5, patience_seconds=10.0
        )  # fmt: skip
    assert result.faults.lost == 5
    assert result.stalls == 1
    assert result.received > 100
