"""A broker that decodes packets with `gateway.broker.wire` and answers each as its script states.

`ScriptedBroker` has the sockets and the answers of a well-behaved broker. A test's script overrides
some of its answers. Scripts that whole rooms of tests use are classes:
`tests.tools.bench.lying_broker` forwards and lies, `tests.bridge.silent_broker` leaves each answer
to the test, `tests.bridge.session_broker` keeps sessions.
"""

import asyncio
from typing import Self

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Packet,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
)

PACKET_BYTES_MAX = 1 << 24


class ServerSide:
    """The broker's end of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.version = 4

    def send(self, *packets: Packet) -> None:
        """Send packets, in the version of the client's CONNECT."""
        self._writer.write(b"".join(encode(packet, self.version) for packet in packets))

    def cut(self) -> None:
        """Cut the connection without a DISCONNECT."""
        self._writer.transport.abort()

    def close(self) -> None:
        """Close the connection once everything is sent."""
        self._writer.close()


class ScriptedBroker:
    """A broker on `port` inside a `with` block, or from `open_address` to `close`."""

    def __init__(self) -> None:
        self.port = 0
        self.connections: list[ServerSide] = []
        """The open connections."""
        self._servers: list[asyncio.Server] = []

    async def open_address(self) -> int:
        """Listen on one more port of loopback, and return it."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Cut every connection, and stop listening."""
        for server in self._servers:
            server.close()
        self.cut()
        for server in self._servers:
            await server.wait_closed()

    async def __aenter__(self) -> Self:
        self.port = await self.open_address()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def cut(self) -> None:
        """Cut every connection without a DISCONNECT."""
        for connection in self.connections:
            connection.cut()

    def receive(self, packet: Packet, connection: ServerSide) -> None:
        """Handle a received packet. This script answers each packet as the standard requires."""
        connection.send(*answers_to(packet))

    async def received(self) -> None:
        """Called after all packets of one read were handled, for subclasses."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerSide(writer)
        self.connections.append(connection)
        decoder = Decoder(PACKET_BYTES_MAX)
        try:
            while data := await reader.read(1 << 16):
                for packet in decoder.feed(data):
                    connection.version = decoder.version
                    self.receive(packet, connection)
                await self.received()
                await writer.drain()
        except ConnectionError:
            pass  # A client may disconnect at any time, and a test may cut the connection.
        finally:
            self.connections.remove(connection)
            writer.close()


def answers_to(packet: Packet) -> list[Packet]:
    """Return what a broker without sessions sends back: no packet, or one."""
    answer: Packet | None = None
    match packet:
        case Connect():
            answer = Connack(False, 0)
        case Subscribe():
            answer = Suback(packet.packet_id, [wanted.qos for wanted in packet.subscriptions])
        case Publish(qos=1):
            answer = Puback(packet.packet_id)
        case Publish(qos=2):
            answer = Pubrec(packet.packet_id)
        case Pubrec():
            answer = Pubrel(packet.packet_id)
        case Pubrel():
            answer = Pubcomp(packet.packet_id)
        case Pingreq():
            answer = Pingresp()
    return [] if answer is None else [answer]
