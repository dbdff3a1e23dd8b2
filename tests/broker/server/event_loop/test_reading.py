"""A client that sends more than a slice, or than the disk accepts, waits and loses nothing."""

import asyncio
import dataclasses

import pytest

from tests.broker.server.broker import log_in, protocols_of
from tests.broker.server.conftest import Start
from tests.broker.server.slow_disk import SlowDisk
from tests.peers.mqtt_bytes import DISCONNECT, PINGREQ, Will, connect, publish, subscribe

READ_BYTES_MAX = 256 * 1024
"""Bytes that one read of asyncio or uvloop returns, at most."""

KIB = 1024

PINGS = 30_000
"""Number of PINGREQs that take 7 slices: 60 kB, which one read returns."""

MANY_PINGS = 3_000
"""Number of PINGREQs that take most of a slice, so that two such clients exceed one."""


async def test_while_one_client_is_behind_the_others_are_answered(start: Start) -> None:
    broker = await start({})
    calm, flood = await log_in(broker, "calm"), await log_in(broker, "flood")
    behind = protocols_of(broker)["flood"].has_more_input
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
    behind = protocols_of(broker)["c"].has_more_input
    client.send(PINGREQ * PINGS + publish("last", b"word") + DISCONNECT)
    await broker.eventually(behind)
    client.abort()
    await broker.eventually(lambda: "c" not in protocols_of(broker))
    assert (await watch.packet())[4:] == b"lastword"
    watch.send(PINGREQ)
    assert await watch.packet() == b"\xd0\x00", "and no will"


async def test_beyond_its_bytes_what_is_unread_is_handled_immediately(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.broker.server.event_loop.reading.UNREAD_BYTES_MAX", 100_000)
    broker = await start({})
    event_loop = broker.running.event_loop
    floods = [await log_in(broker, f"flood {number}") for number in range(6)]
    for flood in floods:
        flood.send(PINGREQ * PINGS)
    protocols = protocols_of(broker)
    await broker.eventually(lambda: any(each.has_more_input() for each in protocols.values()))
    while any(each.has_more_input() for each in protocols.values()):
        unread_bytes = sum(len(each.unread) for each in protocols.values())
        assert unread_bytes == event_loop.reading.unread_bytes <= 100_000
        await asyncio.sleep(0)
    for flood in floods:
        assert await flood.read(2 * PINGS) == b"\xd0\x00" * PINGS
    assert event_loop.reading.unread_bytes == 0


async def test_while_the_disk_stalls_publishers_wait_and_qos_0_and_pingreq_do_not(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({})
    event_loop = broker.running.event_loop
    limits = dataclasses.replace(event_loop.batch_limits, max_uncommitted=64 * KIB)
    event_loop.limits_changed(limits)
    calm = await log_in(broker, "calm", clean=True)
    calm.send(subscribe(1, ("calm", 0)))
    await calm.packet()
    greedy = [await log_in(broker, f"greedy {number}") for number in range(4)]
    count, payload = 64, bytes(16 * KIB)
    flood = b"".join(publish("t", payload, qos=1, packet_id=n + 1) for n in range(count))
    with SlowDisk(event_loop.store, monkeypatch) as disk:
        for client in greedy:
            client.send(flood)
        protocols = protocols_of(broker)
        await broker.eventually(
            lambda: all(protocols[f"greedy {number}"].overloaded for number in range(4))
        )
        # The running commit holds the bytes of the first read, and the next batch waits. Of the
        # 4 MiB that were sent, at most the limit plus one read per client are in memory.
        await broker.eventually(disk.waiting.is_set)
        await broker.eventually(lambda: event_loop.broker.batch.pending_bytes() > 64 * KIB)
        pending_bytes = event_loop.broker.batch.pending_bytes()
        assert pending_bytes <= 64 * KIB + len(greedy) * READ_BYTES_MAX
        for number in range(300):
            calm.send(publish("calm", b"%03d" % number) + PINGREQ)
            assert (await calm.packet())[-3:] == b"%03d" % number
            assert await calm.packet() == b"\xd0\x00"
        assert not protocols["calm"].overloaded
        assert event_loop.committer.writer.stalled_seconds() > 0
    for client in greedy:
        for number in range(count):
            assert await client.packet() == b"\x40\x02" + (number + 1).to_bytes(2, "big")
    assert not any(protocol.overloaded for protocol in protocols.values())


async def test_of_clients_that_send_much_in_one_turn_those_that_come_late_wait_for_a_slice(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.broker.server.event_loop.reading.TURN_SECONDS", 10.0)
    broker = await start({})
    names = [f"heavy{number}" for number in range(4)]
    clients = [await log_in(broker, name) for name in names]
    calm = await log_in(broker, "calm")
    for client in clients:
        client.send(PINGREQ * MANY_PINGS)
        assert await client.read(2 * MANY_PINGS) == b"\xd0\x00" * MANY_PINGS
    protocols = protocols_of(broker)
    for name in names:
        protocols[name].data_received(PINGREQ * MANY_PINGS)
    protocols["calm"].data_received(PINGREQ)
    assert [protocols[name].has_more_input() for name in names] == [False, False, True, True]
    assert not protocols["calm"].has_more_input(), "who sends little is answered in every turn"
    assert await calm.packet() == b"\xd0\x00"
    for client in clients:
        assert await client.read(2 * MANY_PINGS) == b"\xd0\x00" * MANY_PINGS


async def test_where_too_much_waits_already_a_long_turn_puts_nothing_off(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({})
    names = [f"heavy{number}" for number in range(4)]
    clients = [await log_in(broker, name) for name in names]
    for client in clients:
        client.send(PINGREQ * MANY_PINGS)
        assert await client.read(2 * MANY_PINGS) == b"\xd0\x00" * MANY_PINGS
    monkeypatch.setattr("gateway.broker.server.event_loop.reading.UNREAD_BYTES_MAX", 0)
    protocols = protocols_of(broker)
    more_than_a_slice = PINGREQ * (2 * MANY_PINGS)
    for name in names:
        protocols[name].data_received(more_than_a_slice)
        assert not protocols[name].unread
    for client in clients:
        assert await client.read(4 * MANY_PINGS) == b"\xd0\x00" * (2 * MANY_PINGS)
