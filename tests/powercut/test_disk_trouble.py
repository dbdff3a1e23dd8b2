"""A disk that fills up, turns read-only or fails while the broker works on it.

The broker may end, but says why; it never acknowledges what it could not keep, and once the disk is
well again everything that it acknowledged is there.
"""

import asyncio

import pytest

from tests.powercut.away import exit_code_of, numbers_kept, publish_while_it_lasts
from tests.powercut.mounted_disk import MountedDisk
from tests.system.stage import Stage

FILLING_UP: dict[str, object] = {"free_bytes": 64 << 10}
FULL: dict[str, object] = {"free_bytes": 0}
READ_ONLY: dict[str, object] = {"read_only": True}
FAILING: dict[str, object] = {"fsync_fails": True}
WELL: dict[str, object] = {"free_bytes": None, "read_only": False, "fsync_fails": False}


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble", [FILLING_UP, READ_ONLY, FAILING], ids=["full", "read-only", "EIO"]
)
async def test_trouble_under_the_broker_ends_it_loudly_and_costs_nothing_acknowledged(
    disk: MountedDisk, stage: Stage, trouble: dict[str, object]
) -> None:
    disk.set(**trouble)
    acknowledged = await publish_while_it_lasts(stage)
    assert await exit_code_of(stage.broker) != 0
    assert "critical: cannot write broker.db" in stage.broker.standard_error()
    disk.set(**WELL)
    await asyncio.to_thread(stage.broker.start)
    kept = await numbers_kept(stage)
    # The one that was never acknowledged may be there.
    assert kept[:acknowledged] == list(range(acknowledged))
    assert len(kept) <= acknowledged + 1
    assert (await stage.status())["store"]["recovery"] == "unclean"


@pytest.mark.slow
async def test_a_start_on_a_read_only_disk_is_refused_with_the_reason_and_changes_nothing(
    disk: MountedDisk, stage: Stage
) -> None:
    disk.set(**READ_ONLY)
    acknowledged = await publish_while_it_lasts(stage)
    await exit_code_of(stage.broker)
    before = len(stage.broker.standard_error())
    stage.broker.spawn()
    assert await exit_code_of(stage.broker) != 0
    assert "Read-only file system" in stage.broker.standard_error()[before:]
    disk.set(**WELL)
    await asyncio.to_thread(stage.broker.start)
    assert (await numbers_kept(stage))[:acknowledged] == list(range(acknowledged))
    assert (await stage.status())["store"]["detail"] is None


@pytest.mark.slow
async def test_a_broker_starts_on_a_full_disk_and_ends_loudly_when_it_has_to_keep_something(
    disk: MountedDisk, stage: Stage
) -> None:
    # The WAL has its room already: what waits there can be delivered although the disk is full.
    disk.set(**FILLING_UP)
    first_doubtful = await publish_while_it_lasts(stage)
    await exit_code_of(stage.broker)
    disk.set(**FULL)
    await asyncio.to_thread(stage.broker.start)
    before = len(stage.broker.standard_error())
    doubtful = {first_doubtful, await publish_while_it_lasts(stage, first=first_doubtful + 1)}
    assert await exit_code_of(stage.broker) != 0
    assert "disk is full" in stage.broker.standard_error()[before:]
    disk.set(**WELL)
    await asyncio.to_thread(stage.broker.start)
    kept = [number for number in await numbers_kept(stage) if number not in doubtful]
    assert kept == [number for number in range(max(doubtful)) if number not in doubtful]
