"""A disk whose reads, writes and fsyncs fail for a while under broker and uploader.

Acknowledged messages must be kept or reported as lost, also after a power cut. The same tests must
fail for brokers and uploaders with the haste that ours once had.
"""

import asyncio
import signal
import time
from pathlib import Path

import pytest

from gateway.broker.store.medium import READ_ATTEMPTS
from tests.instruments.powercut.aftermath import examine
from tests.instruments.powercut.away import exit_code_of, hold_messages, numbers_kept
from tests.instruments.powercut.campaign import AtAFault, Campaign
from tests.instruments.powercut.machine import FAULTS, WELL
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.instruments.powercut.serial_campaign import SerialCampaign
from tests.instruments.powercut.subjects import Oncegate
from tests.instruments.powercut.test_power_cuts import seed
from tests.peers.byte_client import ConnectionEnded
from tests.system.stage import Stage

pytestmark = pytest.mark.slow

LARGE_BYTES = 900_000
LARGE_COUNT = 12
"""Enough messages to cause a checkpoint and to fill more than two files of the journal."""

DEADLINE_SECONDS = 60.0

TRUSTING = """
import gateway.broker.store.database as database
database.damage_of = lambda *arguments, **named: None
"""
"""A broker that does not open and close the database before its use."""

HASTY = (
    TRUSTING
    + """
database.rewrite_wal = lambda path: None
database.empty_wal = lambda connection: None
"""
)
"""A broker that, in addition, continues to use the WAL that it finds."""


@pytest.fixture
def gateway(disk: MountedDisk, subject: Oncegate) -> Stage:
    """Return a stage with broker and uploader on a mounted disk."""
    disk.switch_on()
    return Stage(subject.broker, prefix="t")


async def start(subject: Oncegate) -> None:
    await asyncio.to_thread(subject.spawn)
    await asyncio.to_thread(subject.await_ready)


async def cut(disk: MountedDisk, subject: Oncegate, seed: str) -> None:
    """Cut the power. The disk is then on and without faults, and nothing runs."""
    subject.die()
    await asyncio.to_thread(disk.cut, seed)
    await asyncio.to_thread(subject.bury)
    disk.switch_on()


async def publish_large(stage: Stage) -> list[bytes]:
    """Publish large messages for a subscriber that is away, until the broker exits.

    Return the acknowledged payloads.
    """
    subscriber = await stage.client("subscriber", clean=False)
    await subscriber.subscribe((stage.topic("a"), 1))
    await subscriber.disconnect()
    payloads = [b"%d " % number + bytes(LARGE_BYTES) for number in range(LARGE_COUNT)]
    publisher = await stage.client("publisher")
    for count, payload in enumerate(payloads):
        try:
            await publisher.deliver(stage.topic("a"), payload, qos=1)
        except ConnectionEnded:
            return payloads[:count]
    return payloads


def journal_of(disk: MountedDisk) -> list[Path]:
    return sorted((disk.folder / "data" / "journal").glob("*.ogj"))


async def test_a_database_that_cannot_be_read_for_a_moment_is_not_set_aside(
    disk: MountedDisk, subject: Oncegate, gateway: Stage
) -> None:
    await start(subject)
    await hold_messages(gateway)
    assert await asyncio.to_thread(subject.broker.stop) == 0
    subject.die()
    await asyncio.to_thread(disk.cut, "everything is on the medium")
    await asyncio.to_thread(subject.bury)
    (disk.medium / "data" / "broker.running").touch()
    disk.switch_on()
    # Each attempt of the broker fails once or twice: some kernels read a failed page again.
    await asyncio.to_thread(
        disk.set, read_fails=[["/data/broker.db", 4096, None]], failures_left=READ_ATTEMPTS - 1
    )
    await start(subject)
    status = await gateway.status()
    assert (status["store"]["recovery"], status["store"]["detail"]) == ("unclean", None)
    assert not (disk.folder / "data" / "damaged").exists()
    assert await numbers_kept(gateway) == list(range(60))


@pytest.mark.parametrize("broker", ["", TRUSTING, HASTY], ids=["as it is", "trusting", "hasty"])
async def test_tables_whose_fsync_failed_are_not_trusted_after_a_restart_and_a_power_cut(
    disk: MountedDisk, subject: Oncegate, gateway: Stage, broker: str
) -> None:
    await start(subject)
    # The rows of the checkpoint are in the page cache, and will never reach the medium.
    await asyncio.to_thread(disk.set, fsync_fails="/data/broker.db-wal")
    payloads = await publish_large(gateway)
    assert await exit_code_of(subject.broker) != 0
    assert "cannot write broker.db" in subject.broker.standard_error()
    await asyncio.to_thread(subject.bury)
    await asyncio.to_thread(disk.set, **WELL)
    subject.broker.planted = broker
    await start(subject)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(journal_of(disk)) > 1:
        # The broker takes the blobs as covered and exported, and drops the journal.
        assert time.monotonic() < deadline, journal_of(disk)
        await asyncio.sleep(0.1)
    await cut(disk, subject, "everything unsynced is lost")
    subject.broker.planted = ""
    await start(subject)
    client = await gateway.client("subscriber", clean=False)
    if broker == HASTY:
        assert not client.session_present
        return
    assert client.session_present
    assert [(await client.take()).payload for _ in payloads] == payloads


async def test_an_end_of_the_journal_that_cannot_be_read_is_reported_and_not_mixed_in_later(
    disk: MountedDisk, subject: Oncegate, gateway: Stage
) -> None:
    await start(subject)
    await hold_messages(gateway)
    await asyncio.to_thread(subject.bury)
    (path,) = journal_of(disk)
    await asyncio.to_thread(disk.set, read_fails=[["/data/journal/*", 16_384, None]])
    await start(subject)
    status = await gateway.status()
    assert status["store"]["recovery"] == "salvaged"
    assert (
        f"the end of the journal cannot be read (49152 bytes of {path.name})"
        in (status["store"]["detail"])
    )
    await gateway.deliver(gateway.topic("a"), b"1000", b"1001")
    subject.broker.signal(signal.SIGKILL)
    await asyncio.to_thread(subject.bury)
    await asyncio.to_thread(disk.set, **WELL)
    await start(subject)
    assert (await gateway.status())["store"]["recovery"] == "unclean"
    kept = await numbers_kept(gateway)
    assert kept[-2:] == [1000, 1001]
    assert kept[:-2] == list(range(len(kept) - 2))


async def test_reads_that_fail_for_a_moment_at_a_start_cost_nothing(
    disk: MountedDisk, subject: Oncegate, gateway: Stage
) -> None:
    await start(subject)
    await hold_messages(gateway)
    await asyncio.to_thread(subject.bury)
    await asyncio.to_thread(
        disk.set, read_fails=[["/data/journal/*", 0, None]], failures_left=3, short_reads=""
    )
    await start(subject)
    assert (await gateway.status())["store"]["recovery"] == "unclean"
    assert await numbers_kept(gateway) == list(range(60))


async def test_short_reads_and_short_writes_are_neither_an_end_nor_an_error(
    disk: MountedDisk, subject: Oncegate, gateway: Stage
) -> None:
    short: dict[str, object] = {"short_writes": "/data/*/*", "short_reads": "/data/*/*"}
    await asyncio.to_thread(disk.set, **short)
    await start(subject)
    await hold_messages(gateway)
    subject.broker.signal(signal.SIGKILL)
    await asyncio.to_thread(subject.bury)
    await start(subject)
    assert (await gateway.status())["store"]["recovery"] == "unclean"
    assert await numbers_kept(gateway) == list(range(60))
    assert await asyncio.to_thread(subject.broker.stop) == 0
    assert await asyncio.to_thread(subject.uploader.stop_when_done) == 0
    assert "error:" not in subject.uploader_log()


async def test_segments_that_cannot_be_read_for_a_while_arrive_afterwards(
    disk: MountedDisk, subject: Oncegate, gateway: Stage
) -> None:
    await asyncio.to_thread(disk.set, read_fails=[["/data/log/sealed/*", 0, None]])
    await start(subject)
    await hold_messages(gateway)
    damaged, uploaded = disk.folder / "data" / "log" / "damaged", disk.folder / "data" / "uploaded"
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not damaged.is_dir() or not any(damaged.glob("*.zst")):
        assert time.monotonic() < deadline, "nothing is set aside"
        await asyncio.sleep(0.1)
    await asyncio.to_thread(disk.set, **WELL)
    waiting = {path.name for path in damaged.glob("*.zst")}
    assert await asyncio.to_thread(subject.broker.stop) == 0
    await asyncio.to_thread(subject.uploader.kill)
    subject.uploader.start()
    while not waiting <= {path.name for path in uploaded.glob("*.zst")}:
        assert time.monotonic() < deadline, subject.uploader_log()
        await asyncio.sleep(0.1)
    assert await asyncio.to_thread(subject.uploader.stop_when_done) == 0
    assert not any(damaged.glob("*.zst"))


TOLERANT = """
import os
fdatasync = os.fdatasync
def tolerant(descriptor):
    try:
        fdatasync(descriptor)
    except OSError:
        pass
os.fdatasync = tolerant
"""
"""A broker that ignores a failed fsync of the journal."""

CUTS = 3
CUTS_OF_THE_TOLERANT_MAX = 12


async def test_a_disk_that_fails_between_power_cuts_costs_nothing(
    disk: MountedDisk, subject: Oncegate
) -> None:
    campaign = Campaign(disk, subject, seed(), CUTS, faults=tuple(FAULTS))
    await campaign.run(lambda: None)
    assert campaign.verdict.is_clean(), campaign.story()
    assert campaign.faults_met["faults"] == CUTS
    log = await examine(subject, published=campaign.published, disk_failed=True)
    print(f"{campaign.faults_met}, {log.event_count} events")


async def test_the_same_faults_find_a_broker_out_that_goes_on_behind_a_failed_fsync(
    disk: MountedDisk, subject: Oncegate
) -> None:
    subject.broker.planted = TOLERANT
    campaign = Campaign(
        disk,
        subject,
        seed(),
        CUTS_OF_THE_TOLERANT_MAX,
        at_a_fault=AtAFault.STOP_CUTTING,
        faults=("fsync",),
    )
    silent = False
    try:
        await campaign.run(lambda: None)
    except* AssertionError:
        silent = True  # The broker does not even start again.
    print(f"{len(campaign.cuts)} cuts: {campaign.verdict}")
    assert silent or not campaign.verdict.is_clean()


async def test_disks_of_bridge_and_broker_that_fail_between_power_cuts_cost_no_reading(
    disk: MountedDisk, bridge_disk: MountedDisk
) -> None:
    campaign = SerialCampaign(disk, bridge_disk, seed(), CUTS, faults=tuple(FAULTS))
    try:
        await campaign.run(lambda: None)
        assert campaign.verdict.is_clean(), campaign.story()
        readings = campaign.subscriber.readings
        await examine(campaign.broker, published=len(readings), disk_failed=True)
        print(f"{campaign.faults_met}, {len(readings)} readings")
    finally:
        campaign.remove()
