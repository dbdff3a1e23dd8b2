"""A broker that receives QoS 2 and keeps sessions as the standard defines them, with the messages
that each session released.

It can listen on any number of addresses. Its limit on unreleased messages is like the real broker's
`max_awaiting_rel`: one message too many closes the connection.
"""

import asyncio
from dataclasses import dataclass, field

from gateway.broker.wire.packets import Connack, Connect, Packet, Pubcomp, Publish, Pubrec, Pubrel
from tests.bridge.broker import DEADLINE_SECONDS
from tests.peers.scripted_broker import ScriptedBroker, ServerSide


@dataclass
class Session:
    """A session. `held` has the payloads that await PUBREL, by packet identifier."""

    held: dict[int, bytes] = field(default_factory=dict)
    connection: ServerSide | None = None


class SessionBroker(ScriptedBroker):
    """A broker whose `delivered` holds each payload as often as a subscriber would receive it.

    With `answers` off it accepts messages without responding. With `reads` off it ignores them.
    With `completes` off it delivers messages but sends no PUBCOMP.
    """

    def __init__(self, *, awaiting_release_max: int = 65535) -> None:
        super().__init__()
        self.sessions: dict[str, Session] = {}
        self.delivered: list[bytes] = []
        self.refused = 0
        self.connects: list[str] = []
        self.answers = True
        self.completes = True
        self.reads = True
        self.awaiting_release_max = awaiting_release_max
        self._session_of: dict[ServerSide, Session] = {}
        self._news = asyncio.Condition()

    async def wait_for(self, count: int) -> None:
        """Wait until `count` messages have been delivered."""
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(lambda: len(self.delivered) >= count)

    async def wait_until_held(self, count: int) -> None:
        """Wait until `count` messages are held in all sessions together."""
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(
                lambda: sum(len(each.held) for each in self.sessions.values()) >= count
            )

    def receive(self, packet: Packet, connection: ServerSide) -> None:
        if isinstance(packet, Connect):
            self._admit(packet, connection)
        elif self.reads and not self._answer(packet, connection):
            self.refused += 1
            connection.cut()

    async def received(self) -> None:
        async with self._news:
            self._news.notify_all()

    def _admit(self, connect: Connect, connection: ServerSide) -> None:
        self.connects.append(connect.client_id)
        if connect.clean_start:
            self.sessions.pop(connect.client_id, None)
        present = connect.client_id in self.sessions
        session = self.sessions.setdefault(connect.client_id, Session())
        if session.connection is not None:
            session.connection.cut()  # [MQTT-3.1.4-2]
        session.connection = connection
        self._session_of[connection] = session
        if connect.clean_start:
            del self.sessions[connect.client_id]
        connection.send(Connack(present, 0))

    def _answer(self, packet: Packet, connection: ServerSide) -> bool:
        session = self._session_of[connection]
        if isinstance(packet, Publish):
            if packet.packet_id not in session.held:
                if len(session.held) >= self.awaiting_release_max:
                    return False
                session.held[packet.packet_id] = bytes(packet.payload)
            if self.answers:
                connection.send(Pubrec(packet.packet_id))
        elif isinstance(packet, Pubrel):
            payload = session.held.pop(packet.packet_id, None)
            if payload is not None:
                self.delivered.append(payload)
            if self.completes:
                connection.send(Pubcomp(packet.packet_id))
        return True
