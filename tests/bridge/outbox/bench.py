"""An outbox on a real file. The test plays the broker's end."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

from firmware_bridge.outbox.boards import Placement
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.readings.publications import Publication

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Publish, Pubrel
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.disk import GatedStore


class Bench:
    """An outbox on a real file, and the packets that it has sent."""

    def __init__(
        self,
        path: Path,
        window: int = 100,
        bytes_max: int = 1 << 20,
        commit_delay_seconds: float = 0.0,
        age_max_seconds: float | None = None,
    ) -> None:
        self.store = GatedStore(path)
        self.outbox = Outbox(
            self.store,
            window=window,
            bytes_max=bytes_max,
            commit_delay_seconds=commit_delay_seconds,
            age_max_seconds=age_max_seconds,
        )
        self.sent: list[str] = []
        self._news = asyncio.Event()
        self._decoder = Decoder(1 << 20, 4)

    def connect(self, *, session_present: bool = True) -> None:
        self._decoder = Decoder(1 << 20, 4)
        self.outbox.receive_connected(self._send, "session", session_present=session_present)

    def disconnect(self) -> None:
        self.outbox.receive_disconnected(self._send)

    def _send(self, data: bytes) -> None:
        for packet in self._decoder.feed(data):
            if isinstance(packet, Publish):
                dup = " again" if packet.dup else ""
                self.sent.append(f"{packet.payload.decode()} as {packet.packet_id}{dup}")
            else:
                assert isinstance(packet, Pubrel)
                self.sent.append(f"release {packet.packet_id}")
        self._news.set()

    async def sends(self, *expected: str) -> None:
        """Wait until exactly these packets have been sent since the last call."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(self.sent) < len(expected):
                self._news.clear()
                await self._news.wait()
        assert self.sent == list(expected)
        self.sent.clear()

    async def settled(self) -> None:
        """Wait until everything before this call has been processed and committed."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self.outbox.wait_for_commit()
            await self.outbox.wait_for_commit()


@contextlib.asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    task = asyncio.create_task(bench.outbox.run())
    try:
        yield bench
    finally:
        bench.store.let_go()
        bench.outbox.stop()
        await task
        await bench.outbox.close()


def readings(*names: str) -> list[Publication]:
    return [Publication(f"sensors/d/{name}", name.encode()) for name in names]


def submit_frame(
    bench: Bench, sequence: int, contents: str
) -> tuple["asyncio.Future[None]", Placement]:
    frame = Frame({"text": [Measurement("text", contents)]})
    return bench.outbox.submit_frame(
        BoardIdentity(42, 1, sequence),
        frame.contents_digest(),
        "port",
        lambda boot: readings(f"{contents} of {boot}"),
    )


def rows_of(path: Path) -> list[tuple[bytes, int | None, int]]:
    """Return payload, packet identifier and whether PUBREC has arrived, for each stored reading."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT payload, packet_id, released FROM readings ORDER BY number"
        ).fetchall()
