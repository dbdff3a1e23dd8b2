"""A broker that responds only to CONNECT by itself; the test sends every other packet."""

import asyncio

from gateway.broker.wire.packets import Connack, Connect, Packet, Pingreq
from tests.bridge.broker import DEADLINE_SECONDS
from tests.peers.scripted_broker import ScriptedBroker, ServerSide


class SilentBroker(ScriptedBroker):
    """A broker that stores each CONNECT in `connects`; its CONNACK has `session_present` and
    `return_code`."""

    def __init__(self) -> None:
        super().__init__()
        self.connects: asyncio.Queue[Connect] = asyncio.Queue()
        self.packets: asyncio.Queue[Packet] = asyncio.Queue()
        self.session_present = False
        self.return_code = 0

    def send(self, packet: Packet) -> None:
        """Send a packet to the client that connected last."""
        self.connections[-1].send(packet)

    async def next_connect(self) -> Connect:
        return await asyncio.wait_for(self.connects.get(), DEADLINE_SECONDS)

    async def next_packet(self) -> Packet:
        return await asyncio.wait_for(self.packets.get(), DEADLINE_SECONDS)

    def receive(self, packet: Packet, connection: ServerSide) -> None:
        if isinstance(packet, Connect):
            # With a clean session no session can be present. [MQTT-3.2.2-1]
            present = self.session_present and not packet.clean_start
            connection.send(Connack(present, self.return_code))
            self.connects.put_nowait(packet)
        elif not isinstance(packet, Pingreq):
            self.packets.put_nowait(packet)
