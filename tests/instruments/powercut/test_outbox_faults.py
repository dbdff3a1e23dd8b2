"""A disk that fails for a while under the bridge: acknowledged frames survive a cut.

The broker is away, so everything that was acknowledged to boards is in the outbox.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.instruments.powercut.bridge_process import STOP_DEADLINE_SECONDS
from tests.instruments.powercut.cabinet import Cabinet
from tests.instruments.powercut.mounted_disk import AFTER_AN_FSYNC, BEFORE_A_CHANGE, MountedDisk
from tests.instruments.powercut.test_damaged_outbox import rows_of

FRAMES = 15


class FailingCabinet(Cabinet):
    """A cabinet whose disk fails and is cut."""

    async def fail(self) -> None:
        """Make an fsync fail, which ends the bridge, and then repair the disk."""
        await asyncio.to_thread(self.disk.set, fsync_fails=True)
        await asyncio.to_thread(self.bridge.wait, STOP_DEADLINE_SECONDS)
        assert "cannot write the outbox" in self.bridge.said_since_start()
        await asyncio.to_thread(self.disk.set, fsync_fails=False)

    async def cut(self, seed: str) -> Path:
        """Cut the power. Return the path of the outbox on the medium."""
        self.bridge.die()
        await asyncio.to_thread(self.disk.cut, seed)
        await asyncio.to_thread(self.bridge.bury)
        return self.disk.medium / "data" / "outbox.db"

    def lost(self, outbox: Path) -> list[tuple[int, int]]:
        """Return the frames that were acknowledged but are missing."""
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
async def cabinet(disk: MountedDisk) -> AsyncIterator[FailingCabinet]:
    disk.switch_on()
    cabinet = FailingCabinet(disk, window=1)
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
    cabinet: FailingCabinet,
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
@pytest.mark.parametrize(
    "count", [1, 3, *(pytest.param(count, marks=pytest.mark.long) for count in (2, 5, 8, 13))]
)
async def test_a_power_cut_amid_the_first_start_after_a_failed_fsync_costs_nothing_acknowledged(
    cabinet: FailingCabinet, instant: str, count: int
) -> None:
    await cabinet.fail()
    cabinet.disk.arm(instant, count, 3.0)
    await asyncio.to_thread(cabinet.bridge.spawn)
    await asyncio.to_thread(cabinet.disk.await_dark)
    assert cabinet.lost(await cabinet.cut(f"{instant} {count}")) == []
    cabinet.disk.switch_on()
    await cabinet.start()
    assert cabinet.bridge.damage() is None
