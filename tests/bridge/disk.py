"""A slow disk: the outbox's own store with a gate before each COMMIT."""

import asyncio
import threading
from pathlib import Path

from firmware_bridge.outbox.store import OutboxStore

from tests.bridge.broker import DEADLINE_SECONDS


class GatedStore(OutboxStore):
    def __init__(self, path: Path) -> None:
        self._open = threading.Event()
        self._open.set()
        self._arrived = threading.Event()
        self.commits = 0
        super().__init__(path)

    def hold(self) -> None:
        """Make every COMMIT wait from now on, as on a slow SD card."""
        self._arrived.clear()
        self._open.clear()

    async def held_commit(self) -> None:
        """Wait until a COMMIT is waiting at the gate."""
        arrived = await asyncio.to_thread(self._arrived.wait, DEADLINE_SECONDS)
        assert arrived, "nothing was committed"

    def let_go(self) -> None:
        self._open.set()

    def commit(self) -> None:
        self._arrived.set()
        assert self._open.wait(DEADLINE_SECONDS), "nobody let the COMMIT go"
        super().commit()
        self.commits += 1

    def in_flight_states(self) -> list[tuple[int, bool]]:
        """Return packet identifier and whether PUBREC has arrived, for each exchange on disk."""
        return [(exchange.packet_id, exchange.released) for exchange in self.readings.in_flight()]
