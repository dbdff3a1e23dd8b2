"""Scenarios that are run with every foreign client on the real broker."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable

import pytest

from tests.contract.mqtt_client.cast import (
    KINDS,
    LIBRARIES,
    OF_VERSION_5,
    RESUMING,
    Cast,
    Kind,
    casts_of,
)
from tests.contract.mqtt_client.conftest import websocket_listener
from tests.contract.mqtt_client.foreign_client import ForeignClient, Level, Message, Will
from tests.system.broker_process import free_port
from tests.system.stage import Stage

EVERY_QOS = (0, 1, 2)
SESSION_TAKEN_OVER = 0x8E

with_every_client = pytest.mark.parametrize("kind", KINDS, ids=str)
with_every_library = pytest.mark.parametrize("kind", LIBRARIES, ids=str)


async def _publish_at_every_qos(publisher: ForeignClient, topic: str, count: int) -> None:
    """Publish `count` messages at each QoS, in rounds of one per QoS. Payloads are `QoS.number`."""
    for number in range(count):
        for qos in EVERY_QOS:
            await publisher.publish(topic, b"%d.%d" % (qos, number), qos=qos)


def _expected(subscription_qos: int, count: int, of: Iterable[int]) -> dict[int, list[object]]:
    """Return payload and QoS of the messages that must arrive, by the QoS of their publication."""
    return {
        qos: [(b"%d.%d" % (qos, number), min(qos, subscription_qos)) for number in range(count)]
        for qos in of
    }


async def _taken(subscriber: ForeignClient, count: int) -> dict[int, list[object]]:
    """Return the next messages by the QoS of their publication, in order within each QoS."""
    taken: dict[int, list[object]] = defaultdict(list)
    for _ in range(count):
        message = await subscriber.take()
        taken[int(message.payload[:1])].append((message.payload, message.qos))
    return taken


@with_every_client
async def test_every_message_arrives_in_order_at_the_lower_qos_of_the_two(
    kind: Kind, cast: Cast
) -> None:
    topic = cast.topic("x")
    subscribers = [await cast.started(f"sub{qos}", (topic, qos)) for qos in EVERY_QOS]
    await _publish_at_every_qos(await cast.started("publisher"), topic, count=5)
    for qos, subscriber in zip(EVERY_QOS, subscribers, strict=True):
        assert await _taken(subscriber, 15) == _expected(qos, 5, of=EVERY_QOS)


@with_every_client
async def test_what_waited_for_a_client_that_was_away_arrives_once_in_the_same_session(
    kind: Kind, cast: Cast
) -> None:
    topic = cast.topic("x")

    def away(qos: int) -> ForeignClient:
        return cast.client(f"away{qos}", subscription=(topic, qos), is_kept=True)

    for qos in EVERY_QOS:
        client = away(qos)
        assert await client.start() in (False, None)
        await client.stop()
    watcher = await cast.started("watcher", (topic, 2))
    publisher = await cast.started("publisher")
    await _publish_at_every_qos(publisher, topic, count=5)
    await _taken(watcher, 15)
    back = [away(qos) for qos in EVERY_QOS]
    for client in back:
        assert await client.start() in (True, None)
    # No message of QoS 0 was queued, and a new message arrives after the queued ones.
    await publisher.publish(topic, b"2.5", qos=2)
    assert await _taken(back[0], 1) == {2: [(b"2.5", 0)]}
    for qos in (1, 2):
        waited = _expected(qos, 5, of=(1, 2))
        waited[2].append((b"2.5", qos))
        assert await _taken(back[qos], 11) == waited
        await cast.settle(f"away{qos}")
        await back[qos].stop()
    again = {qos: away(qos) for qos in (1, 2)}
    for client in again.values():
        assert await client.start() in (True, None)
    await publisher.publish(topic, b"2.6", qos=2)
    for qos, client in again.items():
        assert await _taken(client, 1) == {2: [(b"2.6", qos)]}


@with_every_client
async def test_a_retained_message_waits_for_a_later_subscriber_until_it_is_cleared(
    kind: Kind, cast: Cast
) -> None:
    topic = cast.topic("x")
    watcher = await cast.started("watcher", (topic, 2))
    publisher = await cast.started("publisher")
    await publisher.publish(topic, b"kept", qos=1, retain=True)
    assert await watcher.take() == Message(topic, b"kept", 1, retain=False)
    late = await cast.started("late", (topic, 2))
    assert await late.take() == Message(topic, b"kept", 1, retain=True)
    await publisher.publish(topic, b"", qos=1, retain=True)
    assert await watcher.take() == Message(topic, b"", 1, retain=False)
    later = await cast.started("later", (topic, 2))
    await publisher.publish(topic, b"live", qos=1)
    assert await later.take() == Message(topic, b"live", 1, retain=False)


@with_every_client
async def test_the_will_of_a_client_is_published_when_its_connection_is_cut(
    kind: Kind, cast: Cast
) -> None:
    topic = cast.topic("will")
    watcher = await cast.started("watcher", (topic, 2))
    mortal = cast.client("mortal", subscription=(cast.topic("x"), 0), will=Will(topic, b"gone"))
    await mortal.start()
    await mortal.cut()
    assert await watcher.take() == Message(topic, b"gone", 2, retain=False)


@with_every_library
async def test_the_will_of_a_client_that_disconnects_is_not_published(
    kind: Kind, cast: Cast
) -> None:
    topic = cast.topic("will")
    watcher = await cast.started("watcher", (topic, 2))
    polite = cast.client("polite", will=Will(topic, b"gone"))
    await polite.start()
    await polite.stop()
    # This start finds no session only after the old connection's end, when its will would be sent.
    mortal = cast.client("polite", will=Will(topic, b"gone later"))
    assert await mortal.start() in (False, None)
    await mortal.cut()
    assert (await watcher.take()).payload == b"gone later"


async def _play_a_delayed_will(cast: Cast) -> None:
    topic, subscription, seconds = cast.topic("will"), (cast.topic("x"), 0), 2
    watcher = await cast.started("watcher", (topic, 2))

    def mortal(name: str) -> ForeignClient:
        will = Will(topic, f"{name} {cast.kind}".encode(), delay_seconds=seconds)
        return cast.client(name, subscription=subscription, is_kept=True, will=will)

    returns, lost = mortal("returns"), mortal("lost")
    await returns.start()
    await lost.start()
    await returns.cut()
    back = cast.client("returns", subscription=subscription, is_kept=True)
    assert await back.start() in (True, None)
    cut_seconds = time.monotonic()
    await lost.cut()
    # A will that was due earlier would have arrived earlier.
    assert (await watcher.take()).payload == f"lost {cast.kind}".encode()
    assert time.monotonic() - cut_seconds >= seconds


async def test_a_delayed_will_waits_and_is_not_published_if_its_client_comes_back(
    stage: Stage, websocket_port: int
) -> None:
    # Run all at the same time: they spend most of their time waiting.
    async with casts_of(OF_VERSION_5, stage, websocket_port) as casts:
        await asyncio.gather(*[_play_a_delayed_will(cast) for cast in casts])


@with_every_client
async def test_each_message_goes_to_one_of_the_clients_that_share_a_subscription(
    kind: Kind, cast: Cast
) -> None:
    topic = cast.topic("x")
    shared = (f"$share/workers/{topic}", 1)
    workers = [await cast.started(f"worker{number}", shared) for number in range(2)]
    publisher = await cast.started("publisher")
    for number in range(10):
        await publisher.publish(topic, b"%d" % number, qos=1)
    shared_out = [int((await worker.take()).payload) for worker in workers for _ in range(5)]
    assert sorted(shared_out) == list(range(10))
    await workers[0].stop()
    # Otherwise it may receive such a message, which the other worker then gets out of order.
    await cast.ended("worker0")
    for number in (10, 11):
        await publisher.publish(topic, b"%d" % number, qos=1)
    assert [(await workers[1].take()).payload for _ in range(2)] == [b"10", b"11"]


@with_every_library
async def test_a_second_client_with_the_same_identifier_takes_over(kind: Kind, cast: Cast) -> None:
    topic = cast.topic("x")
    first = await cast.started("same")
    second = await cast.started("same", (topic, 1))
    # MQTT before 5.0 has no DISCONNECT from the broker.
    reason = SESSION_TAKEN_OVER if kind.level == Level.MQTT_5_0 else None
    assert await first.lost() == reason
    await second.publish(topic, b"fine", qos=1)
    assert await second.take() == Message(topic, b"fine", 1, retain=False)


async def _play_until_all_came(cast: Cast, middle: asyncio.Barrier) -> None:
    """Publish and receive at QoS 2.

    With messages in flight, wait at `middle` for all other clients.
    """
    topic = cast.topic("x")
    payloads = [b"%d" % number for number in range(60)]
    subscriber = cast.client("sub", subscription=(topic, 2), is_kept=True, comes_back=True)
    publisher = cast.client("pub", is_kept=True, comes_back=True)
    await subscriber.start()
    await publisher.start()
    async with asyncio.TaskGroup() as publishing:
        for payload in payloads:
            publishing.create_task(publisher.publish(topic, payload, qos=2))
        taken = [(await subscriber.take()).payload for _ in payloads[:20]]
        await middle.wait()
        taken += [(await subscriber.take()).payload for _ in payloads[20:]]
    assert sorted(taken) == sorted(payloads), cast.kind
    await publisher.publish(topic, b"nothing came twice", qos=2)
    assert (await subscriber.take()).payload == b"nothing came twice", cast.kind


async def test_clients_finish_what_was_in_flight_when_the_broker_was_killed(
    new_stage: Callable[..., Stage],
) -> None:
    websocket_port = free_port()
    stage = new_stage(listener_settings=websocket_listener(websocket_port))
    middle = asyncio.Barrier(len(RESUMING) + 1)
    async with (
        casts_of(RESUMING, stage, websocket_port) as casts,
        asyncio.TaskGroup() as playing,
    ):
        for cast in casts:
            playing.create_task(_play_until_all_came(cast, middle))
        await middle.wait()
        await stage.restart("killed")
