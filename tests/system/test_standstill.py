"""A broker that was stopped for a while reads waiting packets before it judges keep-alives."""

import asyncio
import signal

from tests.peers.byte_client import ByteClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.mqtt_bytes import Kind, Will, connect
from tests.system.fixtures import running_broker

CLIENTS = 40
KEEP_ALIVE_SECONDS = 2
STOPPED_SECONDS = 4.0
"""Longer than one and a half keep-alives, and than a broker may take for its other work."""


async def test_clients_whose_ping_was_waiting_stay_connected_and_no_will_is_published() -> None:
    with running_broker("") as broker:
        watcher = await ByteClient.open(broker.port)
        await watcher.connect("watcher")
        await watcher.subscribe(("wills/#", 1))
        clients = [await ByteClient.open(broker.port) for _ in range(CLIENTS)]
        for number, client in enumerate(clients):
            will = Will(f"wills/{number}", b"gone", qos=1)
            await client.connect(
                f"client-{number}", keep_alive_seconds=KEEP_ALIVE_SECONDS, will=will
            )
        broker.signal(signal.SIGSTOP)
        for client in clients:
            client.send(b"\xc0\x00")
        await asyncio.sleep(STOPPED_SECONDS)  # The broker is stopped.
        broker.signal(signal.SIGCONT)
        for client in clients:
            await client.expect(Kind.PINGRESP)
        await watcher.ping()
        assert "the broker did not run" in broker.standard_error()
        # A client that remains silent from now on is noticed as usual.
        async with asyncio.timeout(DEADLINE_SECONDS):
            assert (await watcher.receive()).kind is Kind.PUBLISH
        for client in (*clients, watcher):
            client.cut()


async def test_a_client_whose_connect_was_waiting_is_let_in_and_its_session_is_kept() -> None:
    settings = "[mqtt]\nconnect_timeout = '1s'\n"
    with running_broker(settings) as broker:
        first = await ByteClient.open(broker.port)
        first.send(connect("away", level=5, clean=False)[:-1])
        silent = [await ByteClient.open(broker.port) for _ in range(3)]
        broker.signal(signal.SIGSTOP)
        first.send(connect("away", level=5, clean=False)[-1:])
        for number, each in enumerate(silent):
            each.send(connect(f"late-{number}"))
        await asyncio.sleep(STOPPED_SECONDS)  # The broker is stopped.
        broker.signal(signal.SIGCONT)
        for each in (first, *silent):
            assert (await each.receive()).kind is Kind.CONNACK
        for each in (first, *silent):
            each.cut()
