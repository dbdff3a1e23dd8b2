"""More comes in than goes out: to the disk, or to those who read slowly."""

import asyncio
import dataclasses
import socket
import time

import pytest

from gateway.server.event_loop.event_loop import BURST_BYTES
from gateway.server.listeners.stream import MqttProtocol
from tests.server.broker import Broker
from tests.server.client import Client
from tests.server.conftest import Start
from tests.server.slow_disk import SlowDisk
from tests.system.mqtt_bytes import PINGREQ, connect, publish, subscribe

READ_BYTES_MAX = 256 * 1024
"""What one read of asyncio or uvloop brings at the most."""

KIB = 1024


async def log_in(broker: Broker, client_id: str, *, clean: bool = False) -> Client:
    client = await broker.open()
    client.send(connect(client_id, clean=clean))
    assert (await client.packet())[3] == 0
    return client


def protocols_of(broker: Broker) -> dict[str, MqttProtocol]:
    """What stands behind each client's socket, by client identifier."""
    named: dict[str, MqttProtocol] = {}
    for connection, channel in broker.running.event_loop.channels.items():
        if connection.session is not None:
            assert isinstance(channel, MqttProtocol)
            named[connection.session.client_id] = channel
    return named


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
        # One commit holds what the first read brought, the next batch waits behind it. Of 4 MiB
        # that were sent no more is in memory than the limit and what each was read once beyond it.
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


async def test_a_crowd_that_publishes_at_once_does_not_pile_up_before_a_slow_reader(
    start: Start,
) -> None:
    broker = await start({}, max_write_buffer="64KiB")
    port = broker.listeners[0]["port"]
    slow = socket.create_connection(("127.0.0.1", port))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KIB)
    slow.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(slow, connect("slow", clean=True) + subscribe(1, ("t", 0)))
    await broker.eventually(lambda: "slow" in protocols_of(broker))
    await broker.eventually(lambda: broker.status()["subscriptions"] == 1)
    crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    for number, each in enumerate(crowd):
        each.sendall(connect(f"crowd {number}"))
    await broker.eventually(lambda: len(protocols_of(broker)) == 41)
    # All of it lies in the kernel when the broker's loop has its next turn.
    burst = publish("t", bytes(32 * KIB)) * 10
    for each in crowd:
        each.setblocking(False)
        each.send(burst)
    transport = protocols_of(broker)["slow"].transport
    session = broker.running.event_loop.broker.state.sessions["slow"]
    waiting_bytes = 0
    deadline = time.monotonic() + 10
    while session.dropped_messages + session.delivered_messages < 400:
        assert time.monotonic() < deadline
        waiting_bytes = max(waiting_bytes, transport.get_write_buffer_size())
        await asyncio.sleep(0)
    waiting_bytes = max(waiting_bytes, transport.get_write_buffer_size())
    assert session.dropped_messages > 0
    assert broker.status()["messages"]["dropped"] == {"slow_reader": session.dropped_messages}
    assert waiting_bytes <= 64 * KIB + BURST_BYTES + READ_BYTES_MAX
    for each in (slow, *crowd):
        each.close()
