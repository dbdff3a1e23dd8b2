"""What the garbage collector is spared: nothing ordinary may leave a cycle behind."""

import gc

import pytest

from tests.server.conftest import Start
from tests.system.mqtt_bytes import DISCONNECT, connect, subscribe

CLIENTS = 200


@pytest.mark.parametrize("protocol", ["mqtt", "websocket"])
@pytest.mark.parametrize("goodbye", [DISCONNECT, b"", b"\xff\xff"])
async def test_connections_that_are_over_leave_no_garbage(
    start: Start, protocol: str, goodbye: bytes
) -> None:
    broker = await start({"protocol": protocol})

    async def come_and_go(count: int) -> None:
        for number in range(count):
            client = await broker.open()
            if protocol == "mqtt":
                client.send(connect(f"c{number}", clean=number % 2 == 0))
                await client.packet()
                client.send(subscribe(1, ("t", 1)) + goodbye)
            if not goodbye:
                client.cut()
            elif protocol == "websocket":
                await client.connect_in_frames(f"c{number}")
                client.cut()
            else:
                await client.rest()
                client.cut()
        await broker.eventually(lambda: not broker.running.shell._protocols)

    del come_and_go
