"""One tick with many publishers must not fill the buffer of a slow reader."""

import asyncio
import socket
import time

from gateway.broker.server.event_loop.event_loop import BURST_BYTES
from tests.broker.server.broker import protocols_of
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import connect, publish, subscribe

READ_BYTES_MAX = 256 * 1024
"""Bytes that one read of asyncio or uvloop returns, at most."""

KIB = 1024


async def test_a_crowd_that_publishes_together_does_not_pile_up_before_a_slow_reader(
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
    # All of the burst is in the kernel's buffers before the broker's loop runs its next tick.
    burst = publish("t", bytes(32 * KIB)) * 10
    for each in crowd:
        each.setblocking(False)
        each.send(burst)
    transport = protocols_of(broker)["slow"].transport
    session = broker.running.event_loop.broker.state.sessions["slow"]
    waiting_bytes = 0
    deadline = time.monotonic() + 60
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
