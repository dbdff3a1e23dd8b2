"""File descriptors: a process that has few or none left continues with the ones that are open."""

import asyncio
import resource
from collections.abc import Iterator

import pytest

from tests.peers.byte_client import ByteClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.mqtt_bytes import Kind, connect
from tests.system.broker_process import BrokerProcess

LIMIT = 256
CONNECTIONS_MAX = LIMIT - LIMIT // 4


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    """Run a broker that may open 256 files."""
    process = BrokerProcess("")
    process.planted = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, {LIMIT}))"
    try:
        process.start()
        yield process
    finally:
        process.remove()


async def test_idle_clients_beyond_the_limit_are_refused_and_the_others_are_served(
    broker: BrokerProcess,
) -> None:
    clients = [await ByteClient.open(broker.port) for _ in range(CONNECTIONS_MAX)]
    for number, client in enumerate(clients):
        await client.connect(f"idle-{number}", keep_alive_seconds=0)
    connection_to_close = await ByteClient.open(broker.port)
    connection_to_close.send(connect("late", keep_alive_seconds=0))
    assert await connection_to_close.expect_closed() is not None
    for _ in range(40):
        await clients[0].deliver("topic", bytes(200_000), qos=1)
    assert f"At most {CONNECTIONS_MAX} connections" in broker.standard_error()
    for client in clients:
        client.cut()
    assert broker.stop() == 0


async def test_silent_connections_give_way_to_a_client_that_connects(
    broker: BrokerProcess,
) -> None:
    silent = [await ByteClient.open(broker.port) for _ in range(LIMIT)]
    for number in range(20):
        client = await ByteClient.open(broker.port)
        await client.connect(f"honest-{number}", keep_alive_seconds=0)
        await client.deliver("topic", b"payload", qos=1)
    for each in silent:
        each.cut()
    assert broker.stop() == 0


async def test_a_batch_waits_while_no_file_can_be_opened_and_is_then_acknowledged(
    broker: BrokerProcess,
) -> None:
    async with await ByteClient.open(broker.port) as client:
        await client.connect("writer", clean=False, keep_alive_seconds=0)
        resource.prlimit(broker.process_id, resource.RLIMIT_NOFILE, (1, LIMIT))
        # More bytes than one file of the journal holds, so the next file has to be opened.
        for number in range(1, 31):
            await client.publish("topic", bytes(200_000), qos=1, packet_id=number)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while "the journal waits" not in broker.standard_error():
                assert broker.is_running, broker.standard_error()
                await asyncio.sleep(0.1)
        resource.prlimit(broker.process_id, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        async with asyncio.timeout(DEADLINE_SECONDS):
            for number in range(1, 31):
                await client.expect(Kind.PUBACK, number)
    assert broker.stop() == 0
