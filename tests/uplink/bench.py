"""A committer on a real file, with connections that record what is sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Acknowledgement, Packet, Publish
from gateway.uplink.committer import Committer
from gateway.uplink.lane import Outlet
from gateway.uplink.message import Message
from gateway.uplink.reception import Arrival
from gateway.uplink.recovery import open_uplink_store
from gateway.uplink.routes import Side
from gateway.uplink.settlement import (
    Answered,
    Arrived,
    Connected,
    Disconnected,
    SessionLost,
)

PACKET_BYTES_MAX = 1 << 20
WINDOW = 10
DEADLINE_SECONDS = 60.0


def message(payload: str = "x", qos: int = 2, topic: str = "t") -> Message:
    return Message(topic, payload.encode(), qos, False, b"", None)


def shown(packet: Packet) -> str:
    """Return a short text for a packet, for comparison."""
    if isinstance(packet, Publish):
        again = " again" if packet.dup else ""
        return f"publish {packet.packet_id} {packet.payload.decode()}{again}"
    assert isinstance(packet, Acknowledgement), packet
    return f"{type(packet).__name__.lower()} {packet.packet_id}"


class Bench:
    """A committer with both sides' connections.

    `sent(side)` returns the packets sent to that side's broker.
    """

    def __init__(self, path: Path, *, queue_bytes_max: int = 1 << 20) -> None:
        self.store = open_uplink_store(path)
        self.committer = Committer(self.store, queue_bytes_max=queue_bytes_max)
        self._decoders = {side: Decoder(PACKET_BYTES_MAX, 5) for side in Side}
        self._sent: dict[Side, list[Packet]] = {side: [] for side in Side}

    def outlet(self, side: Side, window: int = WINDOW) -> Outlet:
        def send(data: bytes) -> None:
            # Acknowledgements look alike in both directions, and a PUBLISH to a broker is like one
            # from a client.
            self._sent[side] += self._decoders[side].feed(data)

        return Outlet(send, lambda: True, 5, window)

    def connect(self, side: Side, *, window: int = WINDOW) -> list[str]:
        """Connect with the session of before. Return the packets that gmqtt would send again."""
        lane, outlet = self.committer.lanes[side], self.outlet(side, window)
        lane.exchanges.window = window
        lane.exchanges.begin_again()
        again = [
            outlet.packet_of(each, self.committer.now, again=True)
            for each in lane.exchanges.take_unsent()
        ]
        self.committer.add_event(Connected(side, outlet, f"session-{side.name}"))
        return [shown(each) for each in Decoder(PACKET_BYTES_MAX, 5).feed(b"".join(again))]

    def disconnect(self, side: Side) -> None:
        self.committer.add_event(Disconnected(side))

    def lose_session(self, side: Side) -> None:
        self.committer.add_event(SessionLost(side))

    def arrive(self, side: Side, packet_id: int, payload: str = "x", qos: int = 2) -> None:
        self.committer.add_event(Arrived(side, Arrival(message(payload, qos), packet_id)))

    def answer(self, side: Side, packet: Acknowledgement) -> None:
        self.committer.add_event(Answered(side, packet))

    async def sent(self, side: Side) -> list[str]:
        """Return what was sent since the last call, after everything before is committed."""
        await self.committer.wait_until_durable()
        taken, self._sent[side] = self._sent[side], []
        return [shown(each) for each in taken]


@contextlib.asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    """Run the committer.

    At the end it stops as in a crash: changes that were not committed are lost.
    """
    task = asyncio.create_task(bench.committer.run())
    try:
        yield bench
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await bench.committer.close()
