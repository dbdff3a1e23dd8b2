"""The broker keeps its promise on a disk that loses unsynced data; broken brokers are detected.

`make powercut CUTS=500` runs longer. ONCEGATE_TEST_SEED=<seed> repeats the random choices.
"""

import os
import time

import pytest

from tests.instruments.powercut.aftermath import examine
from tests.instruments.powercut.campaign import AtAFault, Campaign
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.instruments.powercut.subjects import Oncegate

CUTS = 8
CUTS_OF_A_LIAR_MAX = 40
"""About four cuts are enough. By chance a cut may take nothing that was promised."""


def seed() -> int:
    chosen = int(os.environ.get("ONCEGATE_TEST_SEED") or time.time_ns() % 1_000_000)
    print(f"ONCEGATE_TEST_SEED={chosen}")
    return chosen


@pytest.mark.slow
@pytest.mark.statement("MQTT-4.1.0-1", "MQTT-4.3.2-2", "MQTT-4.3.3-1", "MQTT-4.3.3-2")
async def test_power_cuts_under_load_lose_nothing_double_nothing_and_forget_no_client(
    disk: MountedDisk, subject: Oncegate
) -> None:
    campaign = Campaign(disk, subject, seed(), CUTS)
    await campaign.run(lambda: None)
    assert campaign.verdict.is_clean(), campaign.story()
    assert campaign.verdict.acknowledged > 0
    # The cuts were effective: they met unsynced writes, and some were lost.
    assert sum(cut.loss["sectors_lost"] for cut in campaign.cuts) > 0
    log = await examine(subject, published=campaign.published)
    print(f"{campaign.verdict.acknowledged} messages, {log.event_count} events")


@pytest.mark.long
@pytest.mark.slow
async def test_the_same_cuts_on_a_disk_that_lies_about_fsync_are_found_out(
    disk: MountedDisk, subject: Oncegate
) -> None:
    campaign = Campaign(
        disk,
        subject,
        seed(),
        CUTS_OF_A_LIAR_MAX,
        is_lying=True,
        at_a_fault=AtAFault.STOP_CUTTING,
    )
    silent = False
    try:
        await campaign.run(lambda: None)
    except* AssertionError:
        # The disk may have lost files that the broker needs to start, so that no client is
        # answered.
        silent = True
    print(f"{len(campaign.cuts)} cuts: {campaign.verdict}")
    assert silent or not campaign.verdict.is_clean()
