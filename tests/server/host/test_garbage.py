"""What the garbage collector is spared: nothing ordinary may leave a cycle behind."""

import gc

import pytest

from tests.peers.mqtt_bytes import DISCONNECT, PINGREQ, publish, subscribe
from tests.server.broker import Broker
from tests.server.conftest import Start

MISTAKE = b"\xff\xff"


async def come_and_go(broker: Broker, protocol: str, goodbye: bytes) -> None:
    """Connect, take a message, and leave: with a DISCONNECT, a mistake, or without a word."""
    client = await broker.open(1)
    if protocol == "websocket":
        await client.connect_in_frames("client")
        client.abort()
        return
    await client.log_in("client")
    client.send(subscribe(1, ("t", 1)) + publish("t", b"x", qos=1, packet_id=1) + PINGREQ)
    await client.read(5 + 4 + 2)
    client.send(goodbye)
    if goodbye:
        await client.rest()
    client.abort()


def cycles_of_ours() -> list[str]:
    """The types of the broker's objects that only a collection would have found."""
    gc.unfreeze()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [str(type(each)) for each in gc.garbage if type(each).__module__[:8] == "gateway."]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.parametrize(
    ("protocol", "goodbye"),
    [("mqtt", DISCONNECT), ("mqtt", MISTAKE), ("mqtt", b""), ("websocket", b"")],
    ids=["DISCONNECT", "mistake", "cut", "websocket"],
)
async def test_connections_that_are_over_leave_nothing_for_the_garbage_collector(
    start: Start, protocol: str, goodbye: bytes
) -> None:
    broker = await start({}, {"protocol": protocol})
    gc.unfreeze()
    gc.collect()
    for _ in range(20):
        await come_and_go(broker, protocol, goodbye)
    await broker.eventually(lambda: not broker.running.event_loop.channels)
    assert cycles_of_ours() == []
