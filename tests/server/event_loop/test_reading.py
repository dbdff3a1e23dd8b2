"""Who sends more than a slice of work waits for the others, and loses nothing by it."""

import asyncio

import pytest

from tests.server.conftest import Start
from tests.server.event_loop.test_event_loop import log_in, protocols_of
from tests.system.mqtt_bytes import DISCONNECT, PINGREQ, Will, connect, publish, subscribe

PINGS = 30_000
"""15 slices of the shortest packets: 60 kB, which one read brings."""


async def test_while_one_client_is_behind_the_others_are_answered(start: Start) -> None:
    broker = await start({})
    calm, flood = await log_in(broker, "calm"), await log_in(broker, "flood")
    behind = protocols_of(broker)["flood"].is_behind
    flood.send(PINGREQ * PINGS)
    await broker.eventually(behind)
    for _ in range(3):
        calm.send(PINGREQ)
        assert await calm.packet() == b"\xd0\x00"
        assert behind(), "the flood has not been worked off before"
    assert await flood.read(2 * PINGS) == b"\xd0\x00" * PINGS
    assert not behind()
    flood.send(PINGREQ)
    assert await flood.packet() == b"\xd0\x00", "it is read from again"


async def test_a_disconnect_that_came_before_the_connection_broke_is_believed(
    start: Start,
) -> None:
    broker = await start({})
    watch = await log_in(broker, "watch")
    watch.send(subscribe(1, ("#", 0)))
    await watch.packet()
    client = await broker.open()
    client.send(connect("c", clean=True, will=Will("will", b"x")))
    await client.packet()
    behind = protocols_of(broker)["c"].is_behind
    client.send(PINGREQ * PINGS + publish("last", b"word") + DISCONNECT)
    await broker.eventually(behind)
    client.cut()
    await broker.eventually(lambda: "c" not in protocols_of(broker))
    assert (await watch.packet())[4:] == b"lastword"
    watch.send(PINGREQ)
    assert await watch.packet() == b"\xd0\x00", "and no will"


async def test_beyond_its_bytes_what_is_unread_is_handled_at_once(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.server.event_loop.reading.UNREAD_BYTES_MAX", 100_000)
    broker = await start({})
    event_loop = broker.running.event_loop
    floods = [await log_in(broker, f"flood {number}") for number in range(6)]
    for flood in floods:
        flood.send(PINGREQ * PINGS)
    protocols = protocols_of(broker)
    await broker.eventually(lambda: any(each.is_behind() for each in protocols.values()))
    while any(each.is_behind() for each in protocols.values()):
        unread_bytes = sum(len(each.unread) for each in protocols.values())
        assert unread_bytes == event_loop.reading.unread_bytes <= 100_000
        await asyncio.sleep(0)
    for flood in floods:
        assert await flood.read(2 * PINGS) == b"\xd0\x00" * PINGS
    assert event_loop.reading.unread_bytes == 0
