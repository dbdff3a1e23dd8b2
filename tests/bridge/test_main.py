"""The bridge reports to be alive only while it works."""

import asyncio
from pathlib import Path

import pytest
from firmware_bridge.outbox.outbox import Outbox

from gateway.process.files import queue_process
from gateway.process.files.queue_process import Supervision
from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.disk import GatedStore
from tests.bridge.outbox.bench import readings

LIMIT_SECONDS = 0.2


class Witness:
    """Counts how often the bridge reports to be alive."""

    def __init__(self) -> None:
        self.count = 0

    def alive(self) -> None:
        self.count += 1

    async def comes(self) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            before = self.count
            while self.count == before:  # noqa: ASYNC110 - a counter has no event
                await asyncio.sleep(0.01)

    async def ends(self) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            seen, quiet_seconds = self.count, 0.0
            while quiet_seconds < 2 * LIMIT_SECONDS:
                await asyncio.sleep(0.05)
                quiet_seconds = quiet_seconds + 0.05 if self.count == seen else 0.0
                seen = self.count


async def test_a_bridge_whose_commit_hangs_is_not_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_process, "COMMIT_SECONDS_MAX", LIMIT_SECONDS)
    monkeypatch.setattr(queue_process, "ALIVE_SECONDS", 0.01)
    store = GatedStore(tmp_path / "outbox.db")
    outbox = Outbox(store, window=1, bytes_max=1 << 20)
    witness, stop = Witness(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(outbox.run())
        tasks.create_task(Supervision(stop, lambda: None, witness.alive).watch(outbox.commits))
        await witness.comes()
        store.hold()
        durable = outbox.submit(readings("a"))
        await store.held_commit()
        await witness.ends()
        store.let_go()
        await asyncio.shield(durable)
        await witness.comes()
        stop.set()
        outbox.stop()
    await outbox.close()
