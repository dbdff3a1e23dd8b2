"""A disk that fails for a while under the bridge: what boards were told stays, also behind a cut.

The broker is away meanwhile, so that everything that boards were told is in the outbox.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.bridge.terminal import Terminal
from tests.powercut.bridge_process import STOP_DEADLINE_SECONDS, BridgeProcess
from tests.powercut.campaign import workplace
from tests.powercut.mounted_disk import AFTER_AN_FSYNC, BEFORE_A_CHANGE, MountedDisk
from tests.powercut.sensors import Board
from tests.powercut.test_damaged_outbox import rows_of
from tests.system.broker_process import free_port

FRAMES = 15
DEADLINE_SECONDS = 30.0


class Cabinet:
    """A board, a bridge without a broker, and a disk that is switched on."""

    def __init__(self, disk: MountedDisk) -> None:
        self.disk = disk
        self.terminal = Terminal(disk.directory / "board")
        self.board = Board(self.terminal, 1, window=1, interval_seconds=0.002)
        serial = f'[[serial]]\nname = "board"\npath = "{self.terminal.link}"\n'
        self.bridge = BridgeProcess(workplace(disk.directory), free_port(), serial)

    async def start(self) -> None:
        await asyncio.to_thread(self.bridge.spawn)
        await asyncio.to_thread(self.bridge.await_ready)

    async def accept(self, count: int) -> None:
        """Until so many frames more have been acknowledged."""
        before = len(self.board.accepted)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(self.board.accepted) < before + count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # Frames are counted where they are read.

    async def fail(self) -> None:
        """An fsync fails, and with it the bridge; then the disk is well again."""
        await asyncio.to_thread(self.disk.set, fsync_fails=True)
        await asyncio.to_thread(self.bridge.wait, STOP_DEADLINE_SECONDS)
        assert "cannot write the outbox" in self.bridge.said_since_start()
        await asyncio.to_thread(self.disk.set, fsync_fails=False)

    async def cut(self, seed: str) -> Path:
        """Switch everything off; the outbox as the medium has it."""
        self.bridge.die()
        await asyncio.to_thread(self.disk.cut, seed)
        await asyncio.to_thread(self.bridge.bury)
        return self.disk.medium / "data" / "outbox.db"

    def lost(self, outbox: Path) -> list[tuple[int, int]]:
        """The frames that were acknowledged and are not there."""
        kept = b"".join(payload for _, payload in rows_of(outbox))
        return [
            (boot, sequence)
            for boot, sequence in sorted(self.board.accepted)
            if b'"boot":%d,"sequence":%d}' % (boot, sequence) not in kept
        ]

    def remove(self) -> None:
        self.bridge.remove()
        self.terminal.unplug()


@pytest_asyncio.fixture
async def cabinet(disk: MountedDisk) -> AsyncIterator[Cabinet]:
    disk.switch_on()
    cabinet = Cabinet(disk)
    sensing = asyncio.create_task(cabinet.board.run())
    try:
        await cabinet.start()
        await cabinet.accept(FRAMES)
        yield cabinet
    finally:
        sensing.cancel()
        await asyncio.gather(sensing, return_exceptions=True)
        cabinet.remove()


@pytest.mark.slow
async def test_what_is_acknowledged_after_a_failed_fsync_and_a_restart_survives_a_power_cut(
    cabinet: Cabinet,
) -> None:
    await cabinet.fail()
    await cabinet.start()
    await cabinet.accept(FRAMES)
    assert cabinet.lost(await cabinet.cut("everything unsynced is lost")) == []
    cabinet.disk.switch_on()
    await cabinet.start()
    assert cabinet.bridge.damage() is None


@pytest.mark.slow
@pytest.mark.parametrize("instant", [BEFORE_A_CHANGE, AFTER_AN_FSYNC])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
async def test_a_power_cut_amid_the_first_start_after_a_failed_fsync_costs_nothing_acknowledged(
    cabinet: Cabinet, instant: str, count: int
) -> None:
    await cabinet.fail()
    cabinet.disk.arm(instant, count, 3.0)
    await asyncio.to_thread(cabinet.bridge.spawn)
    await asyncio.to_thread(cabinet.disk.await_dark)
    assert cabinet.lost(await cabinet.cut(f"{instant} {count}")) == []
    cabinet.disk.switch_on()
    await cabinet.start()
    assert cabinet.bridge.damage() is None
