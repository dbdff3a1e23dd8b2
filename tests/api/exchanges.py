"""A site whose broker has completed exchanges of messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.api.acting import Site, site
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind


async def connected(at: Site, client_id: str, *, clean: bool = False) -> ByteClient:
    """Return an MQTT 3.1.1 client that is logged in."""
    client = await ByteClient.open(at.port, closes_too=True)
    assert await client.log_in(client_id, clean=clean) == 0
    return client


async def exactly_once(client: ByteClient, packet_id: int, topic: str = "press/force") -> None:
    """Publish one message at QoS 2 with its complete handshake."""
    await client.publish(topic, b"21.5", qos=2, packet_id=packet_id)
    await client.expect(Kind.PUBREC, packet_id)
    await client.acknowledge(Kind.PUBREL, packet_id)
    await client.expect(Kind.PUBCOMP, packet_id)


@asynccontextmanager
async def site_with_exchanges(directory: Path, count: int = 1) -> AsyncIterator[Site]:
    """Run a site on which the client `press` has published `count` messages at QoS 2."""
    async with site(directory) as at:
        client = await connected(at, "press")
        for packet_id in range(1, count + 1):
            await exactly_once(client, packet_id)
        yield at
