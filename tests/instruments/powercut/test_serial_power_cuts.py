"""Every accepted reading arrives once, whatever is cut; and a lying disk is detected.

`make powercut ARGUMENTS="--peer bridge"` runs longer. ONCEGATE_TEST_SEED=<seed> repeats the random
choices.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.instruments.powercut.aftermath import examine
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.instruments.powercut.serial_campaign import SerialCampaign
from tests.instruments.powercut.test_power_cuts import seed

CUTS = 4
CUTS_OF_A_LIAR = 8
"""By chance a cut may take nothing that was promised, but most do."""

NewCampaign = Callable[[int, bool], SerialCampaign]


@pytest.fixture
def new_campaign(disk: MountedDisk, bridge_disk: MountedDisk) -> Iterator[NewCampaign]:
    """Return a function that creates a campaign of cuts on an honest or a lying disk."""
    made: list[SerialCampaign] = []

    def make(cut_count: int, is_lying: bool) -> SerialCampaign:
        made.append(SerialCampaign(disk, bridge_disk, seed(), cut_count, is_lying))
        return made[-1]

    yield make
    for campaign in made:
        campaign.remove()


@pytest.mark.slow
async def test_power_cuts_of_bridge_and_broker_lose_double_and_tear_no_accepted_reading(
    new_campaign: NewCampaign,
) -> None:
    campaign = new_campaign(CUTS, False)
    await campaign.run(lambda: None)
    assert campaign.verdict.is_clean(), campaign.story()
    assert all(board.accepted for board in campaign.boards)
    # The cuts were effective: they met unsynced writes, and some were lost.
    assert sum(cut.loss["sectors_lost"] for cut in campaign.cuts) > 0
    readings = campaign.subscriber.readings
    log = await examine(campaign.broker, published=len(readings))
    print(f"{len(readings)} readings, {log.event_count} events")


@pytest.mark.long
@pytest.mark.slow
async def test_a_disk_under_the_bridge_that_lies_about_fsync_is_found_out(
    new_campaign: NewCampaign,
) -> None:
    campaign = new_campaign(CUTS_OF_A_LIAR, True)
    silent = False
    try:
        await campaign.run(lambda: None)
    except* (AssertionError, TimeoutError):
        # The disk may have lost what the bridge or a board waits for.
        silent = True
    print(f"{len(campaign.cuts)} cuts: {campaign.verdict}")
    assert silent or not campaign.verdict.is_clean()
