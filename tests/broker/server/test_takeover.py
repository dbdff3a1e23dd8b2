"""Takeover of MQTT 5.0 clients on real sockets.

Takeovers happen during delivery, of clients that do not read, and by many clients together.
"""

import asyncio
from contextlib import AsyncExitStack
from random import Random

import pytest

from gateway.broker.core.sessions.session import Session
from gateway.broker.server.listeners import stream as connections
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Disconnect,
    Packet,
    Properties,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from tests.broker.server.broker import Broker
from tests.broker.server.conftest import Start
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.packet_client import PacketClient

TAKEN_OVER = 0x8E
IN_FLIGHT_MAX = 50
"""The publisher's messages in flight, at most; the broker grants a larger receive maximum."""


def port_of(broker: Broker) -> int:
    port: int = broker.listeners[0]["port"]
    return port


def session_of(broker: Broker, client_id: str) -> Session:
    return broker.running.event_loop.broker.state.sessions[client_id]


def connect(client_id: str) -> Connect:
    """Return a CONNECT that resumes a session, or begins one that never expires."""
    properties = Properties()
    properties.session_expiry_interval_seconds = 0xFFFF_FFFF
    return Connect(5, client_id, False, 0, None, None, None, properties)


async def log_in(client: PacketClient, client_id: str) -> bool:
    """Connect; return True if the session was present."""
    client.send(connect(client_id))
    connack = await client.receive()
    assert isinstance(connack, Connack), connack
    assert connack.reason_code == 0
    return connack.session_present


async def subscribe(client: PacketClient, topic_filter: str) -> None:
    client.send(Subscribe(1, [Subscription(topic_filter, 2)]))
    assert isinstance(await client.receive(), Suback)


async def publish_all(port: int, payloads: list[bytes]) -> None:
    """Publish each payload at QoS 1 to `t/1` and at QoS 2 to `t/2`, and complete the exchanges."""
    async with await PacketClient.open(port) as client:
        await log_in(client, "publisher")
        left = [(payload, qos) for payload in payloads for qos in (1, 2)]
        free = list(range(1, IN_FLIGHT_MAX + 1))
        while left or len(free) < IN_FLIGHT_MAX:
            while left and free:
                payload, qos = left.pop(0)
                client.send(Publish(f"t/{qos}", payload, qos, False, False, free.pop(0)))
            packet = await client.receive()
            assert isinstance(packet, Puback | Pubrec | Pubcomp), packet
            if isinstance(packet, Pubrec):
                client.send(Pubrel(packet.packet_id))
            else:
                free.append(packet.packet_id)


class Device:
    """A subscriber that records the messages it has received on all its connections."""

    def __init__(self) -> None:
        self.taken: dict[str, list[bytes]] = {"t/1": [], "t/2": []}
        self.repeated_count = 0
        self._exchanges: set[int] = set()

    def take(self, client: PacketClient, packet: Packet | None) -> None:
        """Record a packet and acknowledge it."""
        if isinstance(packet, Pubrel):
            self._exchanges.discard(packet.packet_id)
            client.send(Pubcomp(packet.packet_id))
            return
        assert isinstance(packet, Publish), packet
        if packet.qos == 1:
            client.send(Puback(packet.packet_id))
            if packet.dup and packet.payload in self.taken[packet.topic]:
                self.repeated_count += 1
                return
        else:
            client.send(Pubrec(packet.packet_id))
            if packet.packet_id in self._exchanges:
                assert packet.dup, f"{packet} under an identifier that is in use"
                self.repeated_count += 1
                return
            self._exchanges.add(packet.packet_id)
        self.taken[packet.topic].append(packet.payload)

    def has(self, payloads: list[bytes]) -> bool:
        return not self._exchanges and all(
            len(each) == len(payloads) for each in self.taken.values()
        )


@pytest.mark.statement("MQTT5-3.1.4-3", "MQTT5-4.4.0-1", "MQTT5-4.6.0-1", "MQTT5-4.3.3-4")
async def test_a_takeover_amid_delivery_loses_nothing_doubles_nothing_and_keeps_the_order(
    start: Start,
) -> None:
    broker = await start({})
    port, random, device = port_of(broker), Random(8), Device()  # noqa: S311
    payloads = [b"%d" % number for number in range(600)]
    takeovers = 0
    async with AsyncExitStack() as connections_made:

        async def next_connection() -> PacketClient:
            return await connections_made.enter_async_context(await PacketClient.open(port))

        client = await next_connection()
        assert not await log_in(client, "device")
        await subscribe(client, "t/+")
        publishing = asyncio.create_task(publish_all(port, payloads))
        while not device.has(payloads):
            for _ in range(random.randint(1, 100)):
                if not device.has(payloads):
                    device.take(client, await client.receive())
            before, client = client, await next_connection()
            assert await log_in(client, "device")
            # The first connection still reads earlier packets, then a DISCONNECT with the reason.
            while not isinstance(packet := await before.receive(), Disconnect):
                device.take(before, packet)
            assert packet.reason_code == TAKEN_OVER
            assert await before.receive() is None
            takeovers += 1
        await publishing
        await publish_all(port, [b"end"])  # after any message that is sent again
        while not device.has([*payloads, b"end"]):
            device.take(client, await client.receive())
        assert device.taken == {topic: [*payloads, b"end"] for topic in ("t/1", "t/2")}
        assert takeovers >= 10
        await broker.eventually(lambda: not session_of(broker, "device").outbound)


@pytest.mark.statement("MQTT5-3.1.4-3", "MQTT5-4.4.0-1", "MQTT5-4.6.0-1")
async def test_a_client_that_neither_reads_nor_answers_is_taken_over_in_full_flow(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.1)
    broker = await start({}, max_inflight=200, max_write_buffer="64KiB")
    port, device = port_of(broker), Device()
    payloads = [b"%d " % number + bytes(65_536) for number in range(100)]
    # The first client's socket and buffers have almost no space.
    deaf = PacketClient.open(port, receive_buffer_bytes=4_096)
    async with await deaf as first, await PacketClient.open(port) as second:
        await log_in(first, "device")
        await subscribe(first, "t/+")
        await publish_all(port, payloads)  # no publisher waits for the deaf client
        stuck = session_of(broker, "device").connection
        assert stuck is not None
        assert not stuck.writable
        assert 0 < len(session_of(broker, "device").outbound) < 2 * len(payloads)
        assert await log_in(second, "device")
        while not device.has(payloads):
            device.take(second, await second.receive())
        assert device.taken == {"t/1": payloads, "t/2": payloads}
        await broker.eventually(lambda: not session_of(broker, "device").outbound)
        # The first client never reads its DISCONNECT, but its socket is closed anyway.
        await broker.eventually(lambda: stuck not in broker.running.event_loop.channels)
        assert broker.status()["connections"]["open"] == 1


@pytest.mark.statement("MQTT5-3.1.4-3", "MQTT5-3.2.0-1")
async def test_of_many_simultaneous_connects_one_connection_stays_and_gets_every_message(
    start: Start,
) -> None:
    broker = await start({})
    port, device = port_of(broker), Device()
    payloads = [b"%d" % number for number in range(20)]
    async with await PacketClient.open(port) as client:
        await log_in(client, "device")
        await subscribe(client, "t/+")
    await publish_all(port, payloads)
    async with AsyncExitStack() as connections_made, asyncio.timeout(DEADLINE_SECONDS):
        crowd = [
            await connections_made.enter_async_context(await PacketClient.open(port))
            for _ in range(50)
        ]
        for client in crowd:
            client.send(connect("device"))
        received: dict[PacketClient, list[Packet | None]] = {client: [] for client in crowd}

        async def listen(client: PacketClient) -> None:
            """Record packets without answering, until the connection ends."""
            while (packet := await client.receive()) is not None:
                received[client].append(packet)

        listening = {asyncio.create_task(listen(client)): client for client in crowd}
        left = set(listening)
        while len(left) > 1:
            _, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        (stays,) = left
        stays.cancel()
        await asyncio.wait(left)
        survivor = listening[stays]
        for client in crowd:
            if client is not survivor and received[client]:  # others were closed before CONNACK
                assert isinstance(received[client][0], Connack)
                assert received[client][-1] == Disconnect(TAKEN_OVER)
        connack, *packets = received[survivor] or [await survivor.receive()]
        assert isinstance(connack, Connack)
        assert connack.session_present
        for packet in packets:
            device.take(survivor, packet)
        while not device.has(payloads):
            device.take(survivor, await survivor.receive())
        assert device.taken == {"t/1": payloads, "t/2": payloads}
        assert broker.status()["connections"]["open"] == 1
