"""Every reading that was accepted arrives once, whatever is cut; and these tests can fail.

`make powercut ARGUMENTS="--peer bridge"` does the same at length. ONCEGATE_TEST_SEED=<seed> throws
the same dice.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.instruments.powercut.aftermath import examine
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.instruments.powercut.serial_campaign import SerialCampaign
from tests.instruments.powercut.test_power_cuts import seed

CUTS = 4
CUTS_OF_A_LIAR = 8
"""Each may by chance take nothing that was promised; most do."""

NewCampaign = Callable[[int, bool], SerialCampaign]


@pytest.fixture
def new_campaign(disk: MountedDisk, bridge_disk: MountedDisk) -> Iterator[NewCampaign]:
    """Makes a campaign of so many cuts, on a bridge's disk that lies or not."""
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
    # The cuts were real: they met writes that were under way, and took some of them.
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
        # What the bridge or a board waits for may be among what the disk lost.
        silent = True
    print(f"{len(campaign.cuts)} cuts: {campaign.verdict}")
    assert silent or not campaign.verdict.is_clean()
