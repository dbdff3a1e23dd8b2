"""Media that lost durable data: a torn journal, an emptied database, pages of zeros.

No fsync protects against this. The broker must still start, keep the readable messages in order and
once, set the rest aside and report it.
"""

import asyncio
import os
import random
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.broker.store.journal_end import RECORD_NAME
from tests.instruments.powercut.away import HELD_COUNT, numbers_kept
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.system.stage import Stage

PAGE_BYTES = 4096


async def take_out(disk: MountedDisk, stage: Stage, how: str) -> Path:
    """Stop or cut the broker, and switch the disk off. Return its data as a plain folder.

    `how` is "stopped" or "cut".
    """
    if how == "stopped":
        assert await asyncio.to_thread(stage.broker.stop) == 0
    else:
        stage.broker.signal(signal.SIGKILL)
    await asyncio.to_thread(disk.cut, "all was synced")
    await asyncio.to_thread(stage.broker.kill)
    return disk.medium / "data"


async def put_back(disk: MountedDisk, stage: Stage) -> None:
    disk.switch_on()
    await asyncio.to_thread(stage.broker.start)


async def damage_is_reported(disk: MountedDisk, stage: Stage) -> None:
    """Check that the log, the status and a warning report the damage, and that the file is kept."""
    status = await stage.status()
    assert status["store"]["recovery"] == "salvaged"
    assert "database damaged" in status["store"]["detail"]
    assert any("damaged at the last start" in warning["sentence"] for warning in status["warnings"])
    assert "error: database damaged" in stage.broker.standard_error()
    assert list((disk.folder / "data" / "damaged").glob("*/broker.db"))


def zero_page(database: Path, number: int) -> None:
    with database.open("r+b") as file:
        file.seek((number - 1) * PAGE_BYTES)
        file.write(bytes(PAGE_BYTES))


def root_page_of(database: Path, name: str) -> int:
    """Return the number of the first page of a table or an index."""
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (page,) = connection.execute(query, (name,)).fetchone()
    return int(page)


def journal_of(data: Path) -> tuple[Path, int]:
    """Return the only file of the journal, and the number of its used bytes."""
    (path,) = (data / "journal").glob("*.ogj")
    return path, len(path.read_bytes().rstrip(b"\0"))


def is_in_order_and_once(numbers: list[int]) -> bool:
    return numbers == sorted(set(numbers))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_a_torn_journal_keeps_everything_before_the_tear(
    disk: MountedDisk, stage: Stage, seed: int
) -> None:
    data = await take_out(disk, stage, "cut")
    journal, used = journal_of(data)
    os.truncate(journal, random.Random(seed).randrange(used))  # noqa: S311
    # Whether the record of the journal's end is on the disk is random. Without the record, nothing
    # shows that the tear is not the end. tests/broker/store/test_journal_end.py has the other case.
    (data / RECORD_NAME).unlink(missing_ok=True)
    await put_back(disk, stage)
    kept = await numbers_kept(stage)
    assert kept == list(range(len(kept)))
    assert (await stage.status())["store"]["recovery"] == "unclean"


@pytest.mark.slow
async def test_a_truncated_database_is_set_aside_and_the_broker_starts(
    disk: MountedDisk, stage: Stage
) -> None:
    database = await take_out(disk, stage, "stopped") / "broker.db"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])
    await put_back(disk, stage)
    await damage_is_reported(disk, stage)
    assert is_in_order_and_once(await numbers_kept(stage))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_pages_of_zeros_cost_what_was_in_them_and_no_order(
    disk: MountedDisk, stage: Stage, seed: int
) -> None:
    data = await take_out(disk, stage, "stopped")
    # As after a cut, when the broker checks every page. After a clean stop it checks at a restart.
    (data / "broker.running").touch()
    database = data / "broker.db"
    pages = range(1, database.stat().st_size // PAGE_BYTES + 1)
    for number in random.Random(seed).sample(pages, 3):  # noqa: S311
        zero_page(database, number)
    await put_back(disk, stage)
    await damage_is_reported(disk, stage)
    assert is_in_order_and_once(await numbers_kept(stage))


@pytest.mark.slow
async def test_a_first_page_of_zeros_costs_nothing_while_the_wal_has_it(
    disk: MountedDisk, stage: Stage
) -> None:
    data = await take_out(disk, stage, "cut")
    zero_page(data / "broker.db", 1)
    await put_back(disk, stage)
    assert await numbers_kept(stage) == list(range(HELD_COUNT))


@pytest.mark.slow
async def test_a_database_of_zero_bytes_is_made_again_from_the_journal(
    disk: MountedDisk, stage: Stage
) -> None:
    (await take_out(disk, stage, "stopped") / "broker.db").write_bytes(b"")
    await put_back(disk, stage)
    assert await numbers_kept(stage) == list(range(HELD_COUNT))


@pytest.mark.slow
async def test_a_broker_starts_where_database_and_journal_are_of_zero_bytes(
    disk: MountedDisk, stage: Stage
) -> None:
    data = await take_out(disk, stage, "stopped")
    (data / "broker.db").write_bytes(b"")
    for path in (data / "journal").iterdir():
        path.write_bytes(b"")
    await put_back(disk, stage)
    assert await numbers_kept(stage) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_blocks_of_zeros_in_the_journal_cost_what_was_in_them_and_no_order(
    disk: MountedDisk, stage: Stage, seed: int
) -> None:
    data = await take_out(disk, stage, "cut")
    journal, used = journal_of(data)
    number = random.Random(seed).randrange(1, used // PAGE_BYTES)  # noqa: S311
    zero_page(journal, number)
    await put_back(disk, stage)
    status = await stage.status()
    assert status["store"]["recovery"] == "salvaged"
    assert "journal" in status["store"]["detail"]
    kept = await numbers_kept(stage)
    assert is_in_order_and_once(kept)
    assert 0 < len(kept) < HELD_COUNT


@pytest.mark.slow
async def test_a_database_of_zero_bytes_is_reported(disk: MountedDisk, stage: Stage) -> None:
    (await take_out(disk, stage, "stopped") / "broker.db").write_bytes(b"")
    await put_back(disk, stage)
    await damage_is_reported(disk, stage)


@pytest.mark.slow
async def test_a_database_of_zero_bytes_costs_nothing_while_the_wal_has_it(
    disk: MountedDisk, stage: Stage
) -> None:
    (await take_out(disk, stage, "cut") / "broker.db").write_bytes(b"")
    await put_back(disk, stage)
    assert await numbers_kept(stage) == list(range(HELD_COUNT))


@pytest.mark.slow
@pytest.mark.parametrize("table", ["sessions", "queue", "sqlite_autoindex_meta_1"])
async def test_damage_found_while_starting_after_a_clean_stop_is_salvaged_too(
    disk: MountedDisk, stage: Stage, table: str
) -> None:
    database = await take_out(disk, stage, "stopped") / "broker.db"
    zero_page(database, root_page_of(database, table))
    await put_back(disk, stage)
    await damage_is_reported(disk, stage)


@pytest.mark.slow
async def test_damage_where_no_start_reads_costs_nothing_and_is_found_after_the_next_cut(
    disk: MountedDisk, stage: Stage
) -> None:
    # Only a start that creates the tables reads this one.
    database = await take_out(disk, stage, "stopped") / "broker.db"
    zero_page(database, root_page_of(database, "_sqlite_migrations"))
    await put_back(disk, stage)
    assert (await stage.status())["store"]["recovery"] == "clean"
    await take_out(disk, stage, "cut")
    await put_back(disk, stage)
    await damage_is_reported(disk, stage)
    assert await numbers_kept(stage) == list(range(HELD_COUNT))


@pytest.mark.slow
async def test_an_emptied_gateway_id_is_reported_and_keeps_nothing_from_starting(
    disk: MountedDisk, stage: Stage
) -> None:
    before = (await stage.status())["gateway"]
    (await take_out(disk, stage, "cut") / "gateway-id").write_bytes(b"")
    await put_back(disk, stage)
    # No sealed segment exists that has the old gateway id.
    assert (await stage.status())["gateway"] != before
    assert "gateway-id does not hold a gateway id" in stage.broker.standard_error()
    assert await numbers_kept(stage) == list(range(HELD_COUNT))
