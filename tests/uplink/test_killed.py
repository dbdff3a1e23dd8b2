"""Exactly once across a link that dies and processes that are killed, both ways simultaneously.

The upstream broker is killed where it is a second Oncegate. Mosquitto loses its sessions at
SIGKILL, so with it the uplink, this gateway's broker and the link are killed.
"""

import secrets

import pytest

from tests.uplink.killing import Campaign


async def run(campaign: Campaign, kills: int) -> None:
    try:
        await campaign.run(kills)
        assert campaign.is_whole(), campaign.summary()
        for way in campaign.ways:
            assert way.taken > 0, campaign.summary()
    finally:
        campaign.remove()


@pytest.mark.slow
async def test_nothing_is_lost_or_doubled_when_each_of_the_three_is_killed() -> None:
    campaign = Campaign(secrets.randbelow(1_000_000), cuts=5)
    await run(campaign, 6)
    assert campaign.kills == {"uplink": 2, "local": 2, "upstream": 2}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [5, 4])
async def test_nothing_is_lost_or_doubled_towards_mosquitto(protocol: int) -> None:
    campaign = Campaign(
        secrets.randbelow(1_000_000),
        mosquitto=True,
        victims=("uplink", "local"),
        cuts=5,
        section=f"protocol = {protocol}",
    )
    await run(campaign, 3)
    assert campaign.kills == {"uplink": 2, "local": 1}
