"""A disk that fills up, turns read-only or fails while the broker is working.

A full disk must not end the broker. After another fault the broker may exit, but must log the
reason. It never acknowledges a message that it could not store. When the disk works again, all
acknowledged messages must be there.
"""

import asyncio

import pytest

from tests.instruments.powercut.away import (
    HELD_COUNT,
    exit_code_of,
    numbers_kept,
    publish_while_it_lasts,
)
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.peers.byte_client import ByteClient
from tests.system.stage import Stage

FULL: dict[str, object] = {"free_bytes": 0}
READ_ONLY: dict[str, object] = {"read_only": True}
FAILING: dict[str, object] = {"fsync_fails": True}
FULL_SECONDS = 2.0
MORE_MESSAGES = 10
FILLING_BYTES = 100_000
"""More than fits into the journal without a longer file."""

WELL: dict[str, object] = {"free_bytes": None, "read_only": False, "fsync_fails": False}


@pytest.mark.slow
@pytest.mark.parametrize("fault", [READ_ONLY, FAILING], ids=["read-only", "EIO"])
async def test_faults_under_the_broker_end_it_loudly_and_cost_nothing_acknowledged(
    disk: MountedDisk, stage: Stage, fault: dict[str, object]
) -> None:
    disk.set(**fault)
    acknowledged = await publish_while_it_lasts(stage)
    assert await exit_code_of(stage.broker) != 0
    assert "critical: cannot write the journal" in stage.broker.standard_error()
    disk.set(**WELL)
    await asyncio.to_thread(stage.broker.start)
    kept = await numbers_kept(stage)
    # The unacknowledged message may be there as well.
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
@pytest.mark.parametrize("starts_full", [False, True], ids=["running", "started on it"])
async def test_a_full_disk_ends_no_broker_and_what_waited_is_acknowledged_when_there_is_room(
    disk: MountedDisk, stage: Stage, starts_full: bool
) -> None:
    disk.set(**FULL)
    if starts_full:
        # A start needs no free space, so queued messages can be delivered from a full disk.
        await stage.restart("killed")
    publisher = await stage.client("publisher")
    publishing = asyncio.create_task(publish(publisher, stage.topic("a"), MORE_MESSAGES))
    done, _ = await asyncio.wait([publishing], timeout=FULL_SECONDS)
    assert not done, "acknowledged on a full disk, or ended"
    assert stage.broker.is_running
    disk.set(**WELL)
    await publishing
    assert await numbers_kept(stage) == list(range(HELD_COUNT + MORE_MESSAGES))
    assert stage.broker.is_running


async def publish(publisher: ByteClient, topic: str, count: int) -> None:
    """Publish `count` more messages, one by one."""
    for number in range(HELD_COUNT, HELD_COUNT + count):
        await publisher.deliver(topic, b"%d" % number + bytes(FILLING_BYTES), qos=2)
