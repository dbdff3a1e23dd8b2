"""A QoS 2 receiver that keeps sessions as the standard has it, and what each of them released.

It has any number of addresses, and a limit on unreleased messages like the broker's
`max_awaiting_rel`: one message too many ends the connection.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field

from gateway.wire.decoder import Decoder
from gateway.wire.encoder import encode
from gateway.wire.packets import Connack, Connect, Packet, Pubcomp, Publish, Pubrec, Pubrel
from tests.bridge.broker import DEADLINE_SECONDS

_MQTT_3_1_1 = 4


@dataclass
class Session:
    """`held`: packet identifier to payload, of messages that PUBREL has not come for."""

    held: dict[int, bytes] = field(default_factory=dict)
    writer: asyncio.StreamWriter | None = None


class SessionBroker:
    """`delivered` holds each payload as often as a subscriber would get it.

    Without `answers` it takes messages and keeps silent; without `reads` it loses them; without
    `completes` it delivers and its PUBCOMP is lost.
    """

    def __init__(self, *, awaiting_release_max: int = 65535) -> None:
        self.sessions: dict[str, Session] = {}
        self.delivered: list[bytes] = []
        self.refused = 0
        self.connects: list[str] = []
        self.answers = True
        self.completes = True
        self.reads = True
        self.awaiting_release_max = awaiting_release_max
        self._servers: list[asyncio.Server] = []
        self._news = asyncio.Condition()

    async def open_address(self) -> int:
        """One address more; its port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        self.cut()
        for server in self._servers:
            await server.wait_closed()

    def cut(self) -> None:
        """End every connection."""
        for session in self.sessions.values():
            if session.writer is not None:
                session.writer.transport.abort()

    async def wait_for(self, count: int) -> None:
        """Until so many messages have been delivered."""
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(lambda: len(self.delivered) >= count)

    async def wait_until_held(self, count: int) -> None:
        """Until so many messages are held over all sessions."""
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(
                lambda: sum(len(each.held) for each in self.sessions.values()) >= count
            )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = Decoder(1 << 20)
        session = Session()
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                for packet in decoder.feed(data):
                    if isinstance(packet, Connect):
                        session = self._admit(packet, writer)
                    elif not self._answer(packet, session, writer):
                        self.refused += 1
                        writer.transport.abort()
                async with self._news:
                    self._news.notify_all()
        writer.close()

    def _admit(self, connect: Connect, writer: asyncio.StreamWriter) -> Session:
        self.connects.append(connect.client_id)
        if connect.clean_start:
            self.sessions.pop(connect.client_id, None)
        present = connect.client_id in self.sessions
        session = self.sessions.setdefault(connect.client_id, Session())
        if session.writer is not None:
            session.writer.transport.abort()  # [MQTT-3.1.4-2]
        session.writer = writer
        if connect.clean_start:
            del self.sessions[connect.client_id]
        writer.write(encode(Connack(present, 0), _MQTT_3_1_1))
        return session

    def _answer(self, packet: Packet, session: Session, writer: asyncio.StreamWriter) -> bool:
        if not self.reads:
            return True
        if isinstance(packet, Publish):
            if packet.packet_id not in session.held:
                if len(session.held) >= self.awaiting_release_max:
                    return False
                session.held[packet.packet_id] = bytes(packet.payload)
            if self.answers:
                writer.write(encode(Pubrec(packet.packet_id), _MQTT_3_1_1))
        elif isinstance(packet, Pubrel):
            payload = session.held.pop(packet.packet_id, None)
            if payload is not None:
                self.delivered.append(payload)
            if self.completes:
                writer.write(encode(Pubcomp(packet.packet_id), _MQTT_3_1_1))
        return True
