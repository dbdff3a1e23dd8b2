"""An outbox that the medium damaged: the bridge starts, reports the damage, and keeps the rest.

The broker is away, so everything that was acknowledged to boards is in the outbox.
"""

import asyncio
import os
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio
from firmware_bridge.outbox.recovery import open_outbox_store

from tests.instruments.powercut.cabinet import Cabinet
from tests.instruments.powercut.mounted_disk import BEFORE_A_CHANGE, MountedDisk

PAGE_BYTES = 4096
# Enough for several pages of readings.
FRAMES = 150
# Few enough for one WAL of up to 250 pages: each can be a separate commit of 3 pages.
FRAMES_OF_ONE_WAL = 20
# The offset of the checkpoint counter in a WAL's header (SQLite's file format, section 4.1).
WAL_CHECKPOINTS = slice(12, 16)

Row = tuple[str, bytes]


def offset_of_readings_in(outbox: Path) -> int:
    """Return the file offset of a page in the middle of the table of readings."""
    query = "SELECT pgoffset FROM dbstat WHERE name = 'readings' AND pagetype = 'leaf'"
    with closing(sqlite3.connect(f"file:{outbox}?mode=ro&immutable=1", uri=True)) as connection:
        offsets = [offset for (offset,) in connection.execute(query)]
    offset: int = offsets[len(offsets) // 2]
    return offset


class DamagedCabinet(Cabinet):
    """A cabinet whose outbox is taken out, damaged and put back."""

    async def start_and_accept(self, frames: int = FRAMES) -> None:
        """Start the bridge, and wait until it has accepted `frames` more frames."""
        await self.start()
        await self.accept(frames)

    async def take_out(self, how: str) -> Path:
        """Stop or cut the bridge, and switch the disk off. Return the outbox's path.

        `how` is "stopped" or "cut".
        """
        if how == "stopped":
            assert await asyncio.to_thread(self.bridge.stop) == 0
            # SQLite does not sync its removal of the WAL.
            folder = os.open(self.disk.folder / "data", os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        else:
            self.bridge.die()
        await asyncio.to_thread(self.disk.cut, "all was synced")
        await asyncio.to_thread(self.bridge.bury)
        return self.disk.medium / "data" / "outbox.db"

    def complaints(self) -> int:
        """Return how often the log reports that the outbox was damaged."""
        return self.bridge.log().count("the outbox was damaged")

    def remove(self) -> None:
        """Remove the bridge and the terminal."""
        self.bridge.remove()
        self.terminal.unplug()


@pytest_asyncio.fixture
async def cabinet(disk: MountedDisk) -> AsyncIterator[DamagedCabinet]:
    disk.switch_on()
    cabinet = DamagedCabinet(disk, window=16)
    sensing = asyncio.create_task(cabinet.board.run())
    try:
        yield cabinet
    finally:
        sensing.cancel()
        await asyncio.gather(sensing, return_exceptions=True)
        cabinet.remove()


def rows_of(outbox: Path) -> list[Row]:
    """Return the rows of an outbox in order.

    A copy is read, because reading may change the file.
    """
    copy = outbox.with_name("copy.db")
    for suffix in ("", "-wal"):
        source = outbox.with_name(outbox.name + suffix)
        if source.exists():
            copy.with_name(copy.name + suffix).write_bytes(source.read_bytes())
    with closing(sqlite3.connect(copy)) as connection:
        rows = connection.execute("SELECT topic, payload FROM readings ORDER BY number").fetchall()
    for path in outbox.parent.glob("copy.db*"):
        path.unlink()
    return rows


async def kept_of(cabinet: DamagedCabinet, before: list[Row]) -> list[Row]:
    """Start on the current medium. Return those of the rows `before` that were kept, each once."""
    cabinet.disk.switch_on()
    await cabinet.start_and_accept()
    now = rows_of(await cabinet.take_out("stopped"))
    assert len(set(now)) == len(now)
    known = set(before)
    kept = [row for row in now if row in known]
    assert now[: len(kept)] == kept, "what was kept comes before what is new"
    assert kept == [row for row in before if row in set(kept)], "in its order"
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("how", ["emptied", "zeros"])
async def test_a_lost_outbox_is_reported_and_kept_and_costs_nothing_that_its_wal_has(
    cabinet: DamagedCabinet, how: str
) -> None:
    await cabinet.start_and_accept(FRAMES_OF_ONE_WAL)
    outbox = await cabinet.take_out("cut")
    wal = outbox.with_name("outbox.db-wal")
    assert int.from_bytes(wal.read_bytes()[WAL_CHECKPOINTS]) == 1, "it has everything"
    before = rows_of(outbox)
    outbox.write_bytes(b"" if how == "emptied" else bytes(outbox.stat().st_size))
    assert await kept_of(cabinet, before) == before
    assert cabinet.complaints() == 1
    outbox = cabinet.disk.medium / "data" / "outbox.db"
    # Repeat this without a WAL.
    outbox.write_bytes(b"" if how == "emptied" else bytes(outbox.stat().st_size))
    assert await kept_of(cabinet, before) == []
    assert cabinet.complaints() == 2
    assert len(list((cabinet.disk.medium / "data").glob("outbox.db.damaged-*[0-9]"))) == 2


@pytest.mark.slow
async def test_a_truncated_outbox_is_reported_and_keeps_what_is_readable(
    cabinet: DamagedCabinet,
) -> None:
    await cabinet.start_and_accept()
    outbox = await cabinet.take_out("stopped")
    before = rows_of(outbox)
    content = outbox.read_bytes()
    # Cut the file off at the newest row's page, whose place depends on the rows per commit.
    cut = content.index(before[-1][1]) // PAGE_BYTES * PAGE_BYTES
    outbox.write_bytes(content[:cut])
    kept = await kept_of(cabinet, before)
    assert 0 < len(kept) < len(before)
    assert cabinet.complaints() == 1


@pytest.mark.slow
async def test_a_torn_wal_keeps_everything_before_the_tear_and_is_no_damage(
    cabinet: DamagedCabinet,
) -> None:
    await cabinet.start_and_accept()
    outbox = await cabinet.take_out("cut")
    before = rows_of(outbox)
    wal = outbox.with_name("outbox.db-wal")
    whole = wal.read_bytes()
    wal.write_bytes(whole[: random.Random(1).randrange(len(whole))])  # noqa: S311
    kept = await kept_of(cabinet, before)
    assert kept == before[: len(kept)]
    assert cabinet.complaints() == 0


@pytest.mark.slow
async def test_cuts_amid_the_salvage_of_a_damaged_outbox_cost_nothing_more(
    cabinet: DamagedCabinet, tmp_path: Path
) -> None:
    await cabinet.start_and_accept()
    outbox = await cabinet.take_out("stopped")
    before = rows_of(outbox)
    with outbox.open("r+b") as file:
        file.seek(offset_of_readings_in(outbox))
        file.write(bytes(PAGE_BYTES))
    (tmp_path / "outbox.db").write_bytes(outbox.read_bytes())
    open_outbox_store(tmp_path / "outbox.db").close()
    wanted = rows_of(tmp_path / "outbox.db")
    for number in range(1, 5):
        cabinet.disk.switch_on()
        cabinet.disk.arm(BEFORE_A_CHANGE, 12 * number, 2.0)
        cabinet.bridge.spawn()
        await asyncio.to_thread(cabinet.disk.await_dark)
        cabinet.bridge.die()
        await asyncio.to_thread(cabinet.disk.cut, str(number))
        await asyncio.to_thread(cabinet.bridge.bury)
    kept = await kept_of(cabinet, before)
    assert 0 < len(wanted) < len(before)
    # A start that completed the salvage may have accepted more rows, but must not keep fewer.
    assert kept == wanted
